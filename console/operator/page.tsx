import type { ComponentType } from 'preact'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { Empty } from '../parts/notice.tsx'
import { ActivityPage } from './activity.tsx'
import { AuditPage } from './audit.tsx'
import { BackupsPage } from './backups/backups.tsx'
import { DoctorPage } from './doctor.tsx'
import { HostsPage } from './hosts/hosts.tsx'
import { OnePlanPage } from './limits/one-plan.tsx'
import { PlansPage } from './limits/plans.tsx'
import { NewUserPage } from './new-user.tsx'
import { OneUserPage } from './one-user.tsx'
import css from './operator.css' with { type: 'text' }
import { OrganizationsPage } from './organizations.tsx'
import { OverviewPage } from './overview.tsx'
import { UserListPage } from './user-list.tsx'

adoptStyles(css)

const sections: Readonly<Record<string, ComponentType>> = {
  overview: OverviewPage,
  users: UserListPage,
  organizations: OrganizationsPage,
  plans: PlansPage,
  hosts: HostsPage,
  backups: BackupsPage,
  doctor: DoctorPage,
  audit: AuditPage,
  activity: ActivityPage,
}

export default function OperatorPage({ segments }: Readonly<{ segments: readonly string[] }>) {
  const [section = 'overview', name] = segments
  return (
    <div class="page operator">
      <div class="inside" key={segments.join('/')}>
        <Sections current={section} />
        {shown(section, name)}
      </div>
    </div>
  )
}

function Sections({ current }: Readonly<{ current: string }>) {
  return (
    <nav class="sections" aria-label="Operator">
      {Object.keys(sections).map((name) => (
        <a
          key={name}
          href={hrefOf(pathTo('operator', name))}
          aria-current={name === current ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

function shown(section: string, name: string | undefined) {
  if (section === 'users' && name !== undefined) {
    return name === 'new' ? <NewUserPage /> : <OneUserPage username={name} />
  }
  if (section === 'plans' && name !== undefined) return <OnePlanPage name={name} />
  const Section = Object.hasOwn(sections, section) ? sections[section] : undefined
  return Section ? <Section /> : <Empty>Page not found.</Empty>
}
