import type {
  FullJobDocument,
  NewSchedule,
  ScheduleDocument,
  ScheduleList,
  ScheduleRunDocument,
  ScheduleRuns,
} from '../../contract/documents.ts'
import { type Connection, send } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

/** `before`: only due times before this one, an ISO time. */
export type RunListing = Readonly<{ per_page?: number | undefined; before?: string | undefined }>

/** Jobs by the clock. */
export function schedulesOf(connection: Connection, name: string) {
  const one = (schedule: string) => ({ parameters: { name, schedule } })

  const list = async (): Promise<readonly ScheduleDocument[]> =>
    (await sendForJson<ScheduleList>(connection, 'listSchedules', { parameters: { name } })).schedules

  /** Refused if there is one of this name. */
  const create = (schedule: NewSchedule & Readonly<{ name: string }>) =>
    sendForJson<ScheduleDocument>(connection, 'createSchedule', { parameters: { name }, json: schedule })

  const read = (schedule: string) => sendForJson<ScheduleDocument>(connection, 'readSchedule', one(schedule))

  /** Makes it, or replaces the one of this name. */
  const put = (schedule: string, wanted: NewSchedule) =>
    sendForJson<ScheduleDocument>(connection, 'putSchedule', {
      ...one(schedule),
      json: wanted,
      isRepeatable: true,
    })

  /** A schedule that is not enabled makes no jobs. Everything else stays as it is. */
  const setEnabled = async (schedule: string, enabled: boolean) =>
    put(schedule, { ...wantedOf(await read(schedule)), enabled })

  const remove = async (schedule: string): Promise<void> => {
    await send(connection, 'deleteSchedule', one(schedule))
  }

  /** Makes a job at once. */
  const run = (schedule: string) => sendForJson<FullJobDocument>(connection, 'runSchedule', one(schedule))

  /** The due times that have passed, newest first. */
  const runs = async (schedule: string, listing: RunListing = {}): Promise<readonly ScheduleRunDocument[]> =>
    (await sendForJson<ScheduleRuns>(connection, 'listRuns', { ...one(schedule), query: listing })).runs

  return { list, create, read, put, setEnabled, delete: remove, run, runs }
}

/** What a schedule is made of, without what the service adds. */
function wantedOf(schedule: ScheduleDocument): NewSchedule {
  const { cron, timezone, query, params, labels, timeout, retry, notify, overlap, catch_up } = schedule
  return { cron, timezone, query, params, labels, timeout, retry, notify, overlap, catch_up }
}
