import { useState } from 'preact/hooks'
import type { DashboardSummary } from '../../src/contract/dashboards.ts'
import { session } from '../api/session.ts'
import { hrefOf, navigate } from '../parts/browser/route.ts'
import { useCommands } from '../parts/commands.ts'
import { FilterField } from '../parts/controls/filter-field.tsx'
import { formatAge } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { listDashboards, pathOfDashboard } from './dashboards-api.ts'

export function DashboardList() {
  const dashboards = useLoaded(listDashboards, [session.value])
  const [filter, setFilter] = useState('')
  const matches = ({ name, title }: DashboardSummary) =>
    `${name} ${title}`.toLowerCase().includes(filter.trim().toLowerCase())
  useCommands([{ name: 'New dashboard', keys: 'Alt+n', run: () => navigate('/dashboards/new') }])
  return (
    <div class="page">
      <div class="inside">
        <div class="page-head">
          <h1 class="grow">Dashboards</h1>
          <FilterField label="Filter dashboards" value={filter} change={setFilter} />
          <a class="button primary" href={hrefOf('/dashboards/new')}>
            New dashboard
          </a>
        </div>
        <p class="muted">Saved queries on a grid, with filters. A public one has a link for everyone.</p>
        <Load from={dashboards}>
          {(all) =>
            all.length === 0 ? (
              <Empty>
                <span>
                  No dashboards yet. <a href={hrefOf('/dashboards/new')}>Make one</a> from your saved queries.
                </span>
              </Empty>
            ) : (
              <FoundDashboards dashboards={all.filter(matches)} />
            )
          }
        </Load>
      </div>
    </div>
  )
}

function FoundDashboards({ dashboards }: Readonly<{ dashboards: readonly DashboardSummary[] }>) {
  if (dashboards.length === 0) return <Empty>No dashboard matches.</Empty>
  return (
    <div class="panel flush scroll-x">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Dashboard</th>
            <th scope="col">Name</th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {dashboards.map(({ name, title, public: isPublic, updated_at }) => (
            <tr key={name}>
              <td>
                <a href={hrefOf(pathOfDashboard(name))}>{title}</a>{' '}
                {isPublic && <span class="badge">public</span>}
              </td>
              <td>{name}</td>
              <td>{formatAge(updated_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
