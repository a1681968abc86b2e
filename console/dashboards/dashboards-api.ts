import { tagOf } from '../../src/client/api/dashboards-api.ts'
import { readText, wholeOrThrow } from '../../src/client/http/send.ts'
import type { DashboardDefinition, DashboardDocument, DashboardList } from '../../src/contract/dashboards.ts'
import type { SavedQueryList } from '../../src/contract/saved-queries.ts'
import { ApiError } from '../api/api-error.ts'
import { request, requestJson } from '../api/request.ts'
import { pathTo } from '../parts/browser/route.ts'

export const listDashboards = async (signal: AbortSignal) =>
  (await requestJson<DashboardList>('listDashboards', { signal })).dashboards

export const readDashboard = (dashboard: string, signal?: AbortSignal) =>
  requestJson<DashboardDocument>('readDashboard', { parameters: { dashboard }, ...(signal && { signal }) })

/** Returns the ETag that a save or deletion must send. */
export async function openDashboard(dashboard: string, signal?: AbortSignal): Promise<OpenedDashboard> {
  const { body, header } = await request('readDashboard', {
    parameters: { dashboard },
    ...(signal && { signal }),
  })
  const document = JSON.parse(await readText(wholeOrThrow(body, signal))) as DashboardDocument
  return { document, etag: tagOf(header) }
}

export type OpenedDashboard = Readonly<{ document: DashboardDocument; etag: string }>

/** Refused if another person has saved since. Without an ETag: if a dashboard of this name exists. */
export const saveDashboard = (dashboard: string, json: DashboardDefinition, etag: string | undefined) =>
  requestJson<DashboardDocument>('saveDashboard', {
    parameters: { dashboard },
    headers: etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag },
    json,
    isRepeatable: true,
  })

export const isChangedSince = (error: unknown) =>
  error instanceof ApiError && error.code === 'dashboard-changed'

/** Changes the current dashboard, also if another person saves it meanwhile. */
export async function changeDashboard(name: string, some: Partial<DashboardDefinition>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const { document, etag } = await openDashboard(name)
    try {
      await saveDashboard(name, { ...document, ...some }, etag)
      return
    } catch (error) {
      if (!isChangedSince(error) || attempt >= 5) throw error
    }
  }
}

/** Refused if another person has saved since. */
export async function deleteDashboard(dashboard: string, etag: string | undefined): Promise<void> {
  await request('deleteDashboard', { parameters: { dashboard }, headers: { 'if-match': etag ?? '*' } })
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
