import type { OperationId } from '../../contract/operations.ts'
import { unexpectedAnswer } from '../cartage-error.ts'

/** Reads a document, and holds that it is the one that was asked for. */
export function readAnswer(operation: OperationId, text: string, read: (text: string) => unknown): unknown {
  const document = parse(text, read)
  if (typeof document !== 'object' || document === null) throw unexpectedAnswer('it is not a JSON object')
  const missing = members[operation]?.find((name) => !(name in document))
  if (missing !== undefined) throw unexpectedAnswer(`it has no '${missing}'`)
  return document
}

/** How an answer must look: its type, and the text that it begins with. */
export type ExpectedStart = Readonly<{ type: string; start: string }>

export function checkType(type = '', wanted: string): void {
  if (!type.startsWith(wanted)) throw unexpectedAnswer(`its type is '${type}', not '${wanted}'`)
}

/** The same bytes; what begins otherwise is thrown before any of it is given. */
export async function* checkedStart(chunks: AsyncIterable<Uint8Array>, start: string) {
  const decoder = new TextDecoder()
  let held: Uint8Array[] = []
  let begun = ''
  for await (const chunk of chunks) {
    if (begun.length < start.length) {
      held.push(chunk)
      begun += decoder.decode(chunk, { stream: true })
      if (begun.length < start.length) continue
      if (!begun.startsWith(start)) break
      yield* held
      held = []
    } else yield chunk
  }
  if (!begun.startsWith(start)) throw unexpectedAnswer(`it does not begin with ${start}`)
}

function parse(text: string, read: (text: string) => unknown): unknown {
  try {
    return read(text)
  } catch (error) {
    throw unexpectedAnswer('it is not JSON', error)
  }
}

const key = ['name', 'type', 'token', 'grants']
const job = ['job_id', 'status', 'query']
const table = ['name', 'privacy', 'table']
const importDocument = ['id', 'state', 'table_names']
const schedule = ['name', 'cron', 'query', 'enabled']
const savedQuery = ['name', 'sql', 'params']
const dashboard = ['name', 'filters', 'parts', 'queries']
const webhook = ['id', 'url', 'on']
const delivery = ['id', 'status']
const tileJson = ['tilejson', 'tiles', 'vector_layers']
const layergroup = ['layergroupid', 'metadata']

/** What callers rely on in the documents of a user. */
const members: Partial<Record<OperationId, readonly string[]>> = {
  listKeys: ['result', 'total'],
  createKey: key,
  readKey: key,
  deleteKey: key,
  regenerateToken: key,
  listKeysByV4: ['keys', 'total'],
  createKeyByV4: key,
  readKeyByV4: key,
  changeKey: key,
  inviteByKey: ['invitation', 'url', 'expires_at'],
  acceptInvitation: key,
  createJob: job,
  readJob: job,
  updateJob: job,
  cancelJob: job,
  createJobByV4: job,
  updateJobByV4: job,
  readJobByV4: job,
  cancelJobByV4: job,
  listJobs: ['jobs', 'next'],
  listSchedules: ['schedules', 'limit'],
  createSchedule: schedule,
  readSchedule: schedule,
  putSchedule: schedule,
  listRuns: ['runs'],
  runSchedule: job,
  listWebhooks: ['webhooks'],
  createWebhook: [...webhook, 'secret'],
  changeWebhook: webhook,
  testWebhook: delivery,
  listDeliveries: ['deliveries', 'next'],
  redeliver: delivery,
  createExport: ['id', 'url', 'expires_at'],
  listExports: ['exports'],
  listQueries: ['queries'],
  saveQuery: savedQuery,
  readQuery: savedQuery,
  listDashboards: ['dashboards'],
  saveDashboard: dashboard,
  readDashboard: dashboard,
  describeQueries: ['openapi', 'paths'],
  listTiles: ['tiles'],
  readTileJson: tileJson,
  createMap: layergroup,
  openNamedMap: layergroup,
  listNamedMaps: ['template_ids'],
  createNamedMap: ['template_id'],
  readNamedMap: ['template'],
  replaceNamedMap: ['template_id'],
  readNamedMapTileJson: tileJson,
  readMapStyle: ['version', 'sources', 'layers'],
  createImport: ['item_queue_id'],
  listImports: ['imports'],
  readImport: importDocument,
  cancelImport: importDocument,
  copyFrom: ['total_rows', 'time'],
  listTables: ['visualizations', 'total_entries'],
  readTable: table,
  changePrivacy: table,
  readTableDetails: ['name', 'geometry_types'],
  listDatasets: ['result', 'total'],
  whoAmI: ['username', 'user_data'],
  readOwnActivity: ['statements', 'left_out'],
  listHistory: ['statements', 'kept_days'],
  tellHistory: ['kept'],
  readUsage: ['username', 'periods'],
}
