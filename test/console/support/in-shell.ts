import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A line that the console shows, run as somebody would who has pasted it; answers what it prints. */
export async function inShell(line: string, token: string): Promise<string> {
  const env = { ...process.env, CARTAGE_API_KEY: token }
  const { stdout } = await promisify(execFile)('sh', ['-c', line], { env, timeout: 60_000 })
  return stdout
}
