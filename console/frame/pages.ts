import type { ComponentType } from 'preact'
import { openJobsText } from '../api/known-jobs.ts'
import { adminToken, session } from '../api/session.ts'

/** What a page is given: what stands after its own path, decoded. */
export type PageProps = Readonly<{ segments: readonly string[] }>

export type Page = Readonly<{
  /** Its first segment: `/sql`. */
  name: string
  label: string
  /** After `g`. */
  key: string
  /** Whose page it is: of whoever is signed in to an account, of a Master key, of the operator. */
  needs: 'account' | 'master' | 'operator'
  load: () => Promise<{ default: ComponentType<PageProps> }>
  /** What stands beside its name in the navigation, such as a number of running jobs. */
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
  { name: 'upload', label: 'Upload', key: 'u', needs: 'account', load: () => import('../upload/page.tsx') },
  {
    name: 'jobs',
    label: 'Jobs',
    key: 'j',
    needs: 'master',
    load: () => import('../jobs/page.tsx'),
    badge: openJobsText,
  },
  { name: 'keys', label: 'Keys', key: 'k', needs: 'master', load: () => import('../keys/page.tsx') },
  {
    name: 'account',
    label: 'Account',
    key: 'a',
    needs: 'account',
    load: () => import('../account/page.tsx'),
  },
  {
    name: 'operator',
    label: 'Operator',
    key: 'o',
    needs: 'operator',
    load: () => import('../operator/page.tsx'),
  },
]

/** Those that have a meaning for who is signed in. */
export const shownPages = () =>
  pages.filter(({ needs }) => (needs === 'operator' ? adminToken.value !== null : session.value !== null))

/** Why a page that is shown cannot be used. */
export function whyNot({ needs }: Page): string | undefined {
  return needs === 'master' && !session.value?.isMaster ? 'Only a Master key may do this' : undefined
}
