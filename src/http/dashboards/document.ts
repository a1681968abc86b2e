import type { DashboardDocument, DashboardSummary } from '../../contract/dashboards.ts'
import type { DashboardHead } from '../../dashboards/dashboard-store.ts'
import type { ShownDashboard } from '../../dashboards/dashboards.ts'

export const dashboardSummary = (dashboard: DashboardHead): DashboardSummary => ({
  name: dashboard.name,
  title: dashboard.title,
  description: dashboard.description,
  public: dashboard.isPublic,
  created_at: dashboard.createdAt.toISOString(),
  updated_at: dashboard.updatedAt.toISOString(),
})

export function dashboardDocument(dashboard: ShownDashboard): DashboardDocument {
  const { content, queries } = dashboard
  const { created_at, updated_at, ...summary } = dashboardSummary(dashboard)
  return {
    ...summary,
    ...content,
    queries: Object.fromEntries(
      queries.map(({ name, isPublic, params }) => [name, { public: isPublic, params }]),
    ),
    created_at,
    updated_at,
  }
}
