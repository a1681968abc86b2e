import { setTimeout as sleep } from 'node:timers/promises'
import { firstHostId } from '../src/postgres/hosts.ts'
import { insist } from './insist.ts'
import { runSql } from './postgres/run-sql.ts'
import type { Stage } from './stage.ts'

/** The server of each user's database, by database name. Users move. */
export async function placesOf(stage: Stage): Promise<ReadonlyMap<string, string>> {
  const { rows } = await stage.admin(
    `select d.name, d.host_id as "hostId" from cartage.users u join cartage.databases d on d.id = u.database_id`,
  )
  const urlOf = (hostId: number) =>
    hostId === firstHostId ? stage.control.url : stage.hosts!.second.primary.url
  return new Map(rows.map(({ name, hostId }) => [name as string, urlOf(hostId)]))
}

/** With the reasons of those that were undone. */
export type MoveCounts = Readonly<{ done: number; failed: number; reasons: readonly string[] }>

/** Checks that every move ends and leaves the user in one place only. */
export class Moves {
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** `judge` finds those that do not end in time. */
  async finish(patienceMs: number): Promise<void> {
    for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(500))
      if ((await insist(() => this.#unfinished())).length === 0) return
  }

  async judge(): Promise<Readonly<{ counts: MoveCounts; problems: readonly string[] }>> {
    const { rows } = await insist(() =>
      this.#stage.admin(
        `select count(*) filter (where phase = 'done')::integer as done,
           count(*) filter (where phase = 'failed')::integer as failed,
           array(select distinct left(error, 100) from cartage.moves where phase = 'failed') as reasons from cartage.moves`,
      ),
    )
    const problems = [...(await insist(() => this.#unfinished())), ...(await insist(() => this.#remains()))]
    return { counts: rows[0] as MoveCounts, problems }
  }

  async #unfinished(): Promise<string[]> {
    const { rows } = await this.#stage.admin(
      'select id, phase, to_host, error from cartage.moves where ended_at is null',
    )
    return rows.map(
      ({ id, phase, to_host, error }) =>
        `move ${id} to ${to_host} is still ${phase} (${error ?? 'no error'})`,
    )
  }

  /** Databases left where their users are not. */
  async #remains(): Promise<string[]> {
    const { control, hosts } = this.#stage
    if (!hosts) return []
    const places = await placesOf(this.#stage)
    const found: string[] = []
    for (const url of [control.url, hosts.second.primary.url]) {
      const { rows } = await runSql(url, 'postgres', 'select datname::text as name from pg_database')
      for (const { name } of rows)
        if (places.has(name) && places.get(name) !== url) found.push(`${name} is on a second host as well`)
    }
    return found
  }
}
