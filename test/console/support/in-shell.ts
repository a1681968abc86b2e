import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a command that the console shows, in a shell, and returns its output. */
export async function inShell(line: string, token: string): Promise<string> {
  const env = { ...process.env, CARTAGE_API_KEY: token }
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { env, timeout: 60_000 })
  return stdout
}
