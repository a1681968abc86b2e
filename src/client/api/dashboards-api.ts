import type { DashboardDefinition, DashboardDocument, DashboardList } from '../../contract/dashboards.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

export function dashboardsOf(connection: Connection, name: string) {
  return {
    /** By name, without their parts. */
    list: async () =>
      (await sendForJson<DashboardList>(connection, 'listDashboards', { parameters: { name } })).dashboards,
    /** Needs the master key, unless the dashboard is public. */
    get: (dashboard: string) =>
      sendForJson<DashboardDocument>(connection, 'readDashboard', { parameters: { name, dashboard } }),
    /** Makes it, or replaces the one of this name. */
    save: (dashboard: string, definition: DashboardDefinition) =>
      sendForJson<DashboardDocument>(connection, 'saveDashboard', {
        parameters: { name, dashboard },
        json: definition,
        isRepeatable: true,
      }),
    delete: async (dashboard: string): Promise<void> => {
      await sendForText(connection, 'deleteDashboard', { parameters: { name, dashboard } })
    },
  }
}
