import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from './stage.ts'

/** How long the jobs of a killed worker have no worker. Measured only while PostgreSQL is not attacked. */
export class RecoveryTimes {
  readonly samplesMs: number[] = []
  readonly #stage: Stage
  readonly #watches: Promise<void>[] = []
  #disturbances = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Call it when PostgreSQL goes down: the current measurements then do not count. */
  disturb(): void {
    this.#disturbances += 1
  }

  /** Records the worker's jobs, kills it, and times the takeover in the background. */
  async watch(pid: number, kill: () => void): Promise<void> {
    const held = await this.#stage.admin(
      `select j.user_id, j.id, j.worker_id from cartage.jobs j join cartage.workers w on w.id = j.worker_id
       where j.status = 'running' and w.name like $1`,
      [`% ${pid}`],
    )
    kill()
    const killedAt = performance.now()
    const before = this.#disturbances
    for (const job of held.rows) {
      const watch = this.#timeOne(job).then((takenAt) => {
        if (this.#disturbances === before) this.samplesMs.push(takenAt - killedAt)
      })
      this.#watches.push(watch.catch(() => undefined))
    }
  }

  async settle(): Promise<void> {
    await Promise.all(this.#watches)
  }

  /** Another worker has the job, or it had ended just before. */
  async #timeOne({ user_id, id, worker_id }: HeldJob): Promise<number> {
    for (;;) {
      const { rowCount } = await this.#stage.admin(
        `select from cartage.jobs where user_id = $1 and id = $2 and status = 'running'
           and (worker_id = $3 or worker_id is null)`,
        [user_id, id, worker_id],
      )
      if (rowCount === 0) return performance.now()
      await sleep(pollMs)
    }
  }
}

type HeldJob = Readonly<{ user_id: number; id: string; worker_id: number }>

const pollMs = 25
