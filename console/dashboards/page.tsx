import { adoptStyles } from '../parts/browser/styles.ts'
import { EditedDashboard, NewDashboard } from './dashboard-editor.tsx'
import { DashboardList } from './dashboard-list.tsx'
import { OpenDashboard } from './dashboard-view.tsx'
import css from './dashboards.css' with { type: 'text' }

adoptStyles(css)

/** `/dashboards`, `/dashboards/new`, `/dashboards/board/{name}` and `/dashboards/board/{name}/edit`. */
export default function DashboardsPage({
  segments: [what, name, act],
}: Readonly<{ segments: readonly string[] }>) {
  if (what === 'new') return <NewDashboard key="new" />
  if (what !== 'board' || name === undefined) return <DashboardList />
  return act === 'edit' ? (
    <EditedDashboard key={name} name={name} />
  ) : (
    <OpenDashboard key={name} name={name} />
  )
}
