import type { DashboardDefinition, DashboardDocument, DashboardList } from '../../contract/dashboards.ts'
import { readAnswer } from '../http/expected-answer.ts'
import { type Connection, plainJson, readText, send, sendForText, wholeOrThrow } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

export type TaggedDashboard = Readonly<{ dashboard: DashboardDocument; etag: string }>

export type DeleteOptions = Readonly<{
  /** Acts only if the dashboard has not changed since it was read with this ETag. */
  ifMatch?: string | undefined
}>

export type SaveOptions = DeleteOptions &
  Readonly<{
    /** Only if there is no dashboard of this name. */
    ifNew?: boolean | undefined
  }>

/** Throws if there is none: a save would replace what somebody else has saved. */
export function tagOf(header: (name: string) => string | undefined): string {
  const tag = header('etag')
  if (tag) return tag
  throw new Error('The answer has no ETag. A proxy in front of the service has removed it')
}

export function dashboardsOf(connection: Connection, name: string) {
  return {
    /** By name, without their parts. */
    list: async () =>
      (await sendForJson<DashboardList>(connection, 'listDashboards', { parameters: { name } })).dashboards,
    /** Needs the master key, unless the dashboard is public. */
    get: (dashboard: string) =>
      sendForJson<DashboardDocument>(connection, 'readDashboard', { parameters: { name, dashboard } }),
    /** The same, with its ETag for `ifMatch` of a save or deletion. */
    getWithEtag: async (dashboard: string): Promise<TaggedDashboard> => {
      const { body, header } = await send(connection, 'readDashboard', { parameters: { name, dashboard } })
      const text = await readText(wholeOrThrow(body, undefined))
      const read = readAnswer('readDashboard', text, (connection.json ?? plainJson).read)
      return { dashboard: read as DashboardDocument, etag: tagOf(header) }
    },
    /** Makes it, or replaces the one of this name. `dashboard-changed`: it is not the one of `ifMatch`, or not new. */
    save: (dashboard: string, definition: DashboardDefinition, { ifMatch, ifNew }: SaveOptions = {}) =>
      sendForJson<DashboardDocument>(connection, 'saveDashboard', {
        parameters: { name, dashboard },
        headers: {
          ...matching(ifMatch),
          ...(ifNew && { 'if-none-match': '*' }),
        },
        json: definition,
        isRepeatable: true,
      }),
    /** `dashboard-changed`: it is not the one of `ifMatch`. */
    delete: async (dashboard: string, { ifMatch }: DeleteOptions = {}): Promise<void> => {
      const parameters = { name, dashboard }
      await sendForText(connection, 'deleteDashboard', { parameters, headers: matching(ifMatch) })
    },
  }
}

const matching = (etag: string | undefined): Readonly<Record<string, string>> =>
  etag === undefined ? {} : { 'if-match': etag }
