import { useEffect, useState } from 'preact/hooks'
import type {
  ScheduleDocument,
  ScheduleList,
  ScheduleRunDocument,
  ScheduleRuns,
} from '../../src/contract/documents.ts'
import { isAbort } from '../api/api-error.ts'
import { requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'

export type ShownSchedule = Readonly<{ schedule: ScheduleDocument; runs: readonly ScheduleRunDocument[] }>

const everyMs = 5_000

/** The schedules of the account with their last runs, read again while the tab is visible. */
export function useSchedules() {
  const [schedules, setSchedules] = useState<readonly ShownSchedule[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [round, setRound] = useState(0)
  useEffect(() => {
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      try {
        if (document.visibilityState === 'visible') setSchedules(await readSchedules(left.signal))
        setError(undefined)
      } catch (failure) {
        if (!left.signal.aborted && !isAbort(failure)) setError(failure)
      }
      if (!left.signal.aborted) timer = setTimeout(read, everyMs)
    }
    void read()
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [round, session.value])
  return { schedules, error, again: () => setRound((former) => former + 1) }
}

async function readSchedules(signal: AbortSignal): Promise<readonly ShownSchedule[]> {
  const { schedules } = await requestJson<ScheduleList>('listSchedules', { signal })
  return Promise.all(
    schedules.map(async (schedule) => {
      const parameters = { schedule: schedule.name }
      const { runs } = await requestJson<ScheduleRuns>('listRuns', {
        parameters,
        query: { per_page: 30 },
        signal,
      })
      return { schedule, runs }
    }),
  )
}
