import type { ComponentType } from 'preact'
import { openJobsText } from '../api/known-jobs.ts'
import { adminToken, session } from '../api/session.ts'

/** The segments of the path after the name of the page, decoded. */
export type PageProps = Readonly<{ segments: readonly string[] }>

export type Page = Readonly<{
  /** The first segment of its path: `sql` for `/sql`. */
  name: string
  label: string
  /** The second key of its shortcut, after `g`. */
  key: string
  /** Which sign-in opens it: any to an account, the Master key, or the admin token. */
  needs: 'account' | 'master' | 'operator'
  load: () => Promise<{ default: ComponentType<PageProps> }>
  /** Shown beside its name in the navigation, such as the number of open jobs. */
  badge?: () => string | undefined
}>

/** In the order of the navigation. Add a line to add a page. */
export const pages: readonly Page[] = [
  { name: 'sql', label: 'SQL', key: 's', needs: 'account', load: () => import('../sql/page.tsx') },
  {
    name: 'tables',
    label: 'Tables',
    key: 't',
    needs: 'account',
    load: () => import('../tables/page.tsx'),
  },
  { name: 'maps', label: 'Maps', key: 'm', needs: 'account', load: () => import('../maps/page.tsx') },
  {
    name: 'dashboards',
    label: 'Dashboards',
    key: 'd',
    needs: 'master',
    load: () => import('../dashboards/page.tsx'),
  },
  { name: 'upload', label: 'Upload', key: 'u', needs: 'account', load: () => import('../upload/page.tsx') },
  {
    name: 'jobs',
    label: 'Jobs',
    key: 'j',
    needs: 'master',
    load: () => import('../jobs/page.tsx'),
    badge: openJobsText,
  },
  {
    name: 'schedules',
    label: 'Schedules',
    key: 'c',
    needs: 'master',
    load: () => import('../schedules/page.tsx'),
  },
  { name: 'keys', label: 'Keys', key: 'k', needs: 'master', load: () => import('../keys/page.tsx') },
  {
    name: 'account',
    label: 'Account',
    key: 'a',
    needs: 'account',
    load: () => import('../account/page.tsx'),
  },
  { name: 'guide', label: 'Guide', key: 'h', needs: 'account', load: () => import('../guide/page.tsx') },
  {
    name: 'operator',
    label: 'Operator',
    key: 'o',
    needs: 'operator',
    load: () => import('../operator/page.tsx'),
  },
]

/** The pages of an account for an account, the page of the operator for the operator. */
export const shownPages = () =>
  pages.filter(({ needs }) => (needs === 'operator' ? adminToken.value !== null : session.value !== null))

/** Why a page in the navigation cannot be used, or undefined if it can. */
export function whyNot({ needs }: Page): string | undefined {
  return needs === 'master' && !session.value?.isMaster ? 'Needs the Master key' : undefined
}
