import { spawnSync } from 'node:child_process'

/** Runs psql to its end; throws its error output if it fails. */
export function psql(url: URL, options: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const { status, stderr } = spawnSync('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', ...options, url.href], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (status !== 0) throw new Error(stderr)
}
