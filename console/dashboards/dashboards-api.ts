import type { DashboardDefinition, DashboardDocument, DashboardList } from '../../src/contract/dashboards.ts'
import type { SavedQueryList } from '../../src/contract/saved-queries.ts'
import { request, requestJson } from '../api/request.ts'
import { pathTo } from '../parts/browser/route.ts'

export const listDashboards = async (signal: AbortSignal) =>
  (await requestJson<DashboardList>('listDashboards', { signal })).dashboards

export const readDashboard = (dashboard: string, signal?: AbortSignal) =>
  requestJson<DashboardDocument>('readDashboard', { parameters: { dashboard }, ...(signal && { signal }) })

export const saveDashboard = (dashboard: string, json: DashboardDefinition) =>
  requestJson<DashboardDocument>('saveDashboard', { parameters: { dashboard }, json, isRepeatable: true })

export async function deleteDashboard(dashboard: string): Promise<void> {
  await request('deleteDashboard', { parameters: { dashboard } })
}

/** The saved queries of the account, as a dashboard names them. */
export async function listPartQueries(signal: AbortSignal): Promise<DashboardDocument['queries']> {
  const { queries } = await requestJson<SavedQueryList>('listQueries', { signal })
  return Object.fromEntries(
    queries.map(({ name, public: isPublic, params }) => [name, { public: isPublic, params }]),
  )
}

export const pathOfDashboard = (name: string, act?: 'edit') =>
  pathTo('dashboards', 'board', name, ...(act ? [act] : []))
