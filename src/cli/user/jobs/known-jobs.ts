import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UserConfig } from '../../../config/config.ts'
import { makeFolder } from '../../../files/make-folder.ts'

/** A job queued from this computer. The service has no list of jobs. */
export type KnownJob = Readonly<{ id: string; url: string; user: string; at: string; statement: string }>

const mostKept = 1_000

export async function rememberJob(config: UserConfig, job: KnownJob): Promise<void> {
  await makeFolder(config.stateFolder, 0o700)
  await appendFile(pathOf(config), `${JSON.stringify(job)}\n`, { mode: 0o600 })
  const lines = await readLines(config)
  if (lines.length > mostKept * 2)
    await writeFile(pathOf(config), `${lines.slice(-mostKept).join('\n')}\n`, { mode: 0o600 })
}

/** The jobs of an account, newest first. */
export async function knownJobs(config: UserConfig, url: string, user: string): Promise<readonly KnownJob[]> {
  const jobs = (await readLines(config)).flatMap((line) => {
    try {
      return [JSON.parse(line) as KnownJob]
    } catch {
      return []
    }
  })
  return jobs
    .filter((job) => job.url === url && job.user === user)
    .slice(-mostKept)
    .reverse()
}

const pathOf = ({ stateFolder }: UserConfig) => join(stateFolder, 'jobs.ndjson')

async function readLines(config: UserConfig): Promise<readonly string[]> {
  const text = await readFile(pathOf(config), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean)
}
