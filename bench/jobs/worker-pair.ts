import { setTimeout as sleep } from 'node:timers/promises'
import { CartageProcess } from '../../chaos/process.ts'
import type { Frame } from '../frame/frame.ts'
import { seconds } from '../frame/measure.ts'
import { secret } from '../frame/service.ts'

/** Worker processes beside a service without a worker; a killed one is restarted. */
export async function startWorkers(
  frame: Frame,
  namespace: string,
  count: number,
): Promise<{ killHolder: () => Promise<number> }> {
  const control = await frame.connect(namespace)
  const environment = {
    ...process.env,
    CARTAGE_DATABASE_URL: (await frame.cluster()).url,
    CARTAGE_SECRET: secret,
    CARTAGE_NAMESPACE: namespace,
    CARTAGE_LOG_LEVEL: 'silent',
  }
  const workers = Array.from({ length: count }, () => new CartageProcess('worker', environment))
  frame.after(() => Promise.all(workers.map((worker) => worker.end('SIGKILL'))))

  const allArePresent = async () => {
    const { rows } = await control.query('select name from cartage.workers')
    return workers.every(({ pid }) => rows.some(({ name }) => name.endsWith(` ${pid}`)))
  }
  const holder = async () => {
    const { rows } = await control.query(
      `select w.name, j.flight_pid as pid from cartage.jobs j join cartage.workers w on w.id = j.worker_id
       where j.status = 'running' and j.flight_pid is not null`,
    )
    return rows[0] as { name: string; pid: number } | undefined
  }
  /** Kills the worker that has the job; returns the milliseconds until the other one has sent its statement. */
  const killHolder = async () => {
    await until(allArePresent)
    const before = await until(holder)
    const victim = workers.find(({ pid }) => before.name.endsWith(` ${pid}`))!
    const taken = await seconds(async () => {
      victim.signal('SIGKILL')
      await until(async () => {
        const now = await holder()
        return now && now.pid !== before.pid && now.name !== before.name
      })
    })
    return taken * 1000
  }
  return { killHolder }
}

async function until<T>(check: () => Promise<T | undefined | false>): Promise<T> {
  for (const end = performance.now() + 60_000; performance.now() < end; await sleep(5)) {
    const result = await check()
    if (result) return result
  }
  throw new Error('waited 60 s for workers that did not come')
}
