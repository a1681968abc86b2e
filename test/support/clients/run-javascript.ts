import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

type Surroundings = Readonly<{ cwd: string; env: NodeJS.ProcessEnv }>

/** Runs a module that imports the client under the name that users know. Returns what it prints. */
export async function runJavascript(code: string, { cwd, env }: Surroundings): Promise<string> {
  const source = new URL('../../../src/client/client.ts', import.meta.url)
  const runnable = code
    .replaceAll("'cartage/client'", `'${source}'`)
    .replaceAll("'ws'", `'${import.meta.resolve('ws')}'`)
  await writeFile(join(cwd, 'example.mjs'), runnable)
  const args = ['--import', import.meta.resolve('tsx'), 'example.mjs']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env })
  return stdout
}
