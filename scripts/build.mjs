import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildCli } from './build-cli.mjs'
import { buildClient } from './build-client.mjs'
import { buildConsole, consoleSources } from './build-console.mjs'
import { buildService } from './build-service.mjs'
import { root, say } from './run.mjs'

const dist = join(root, 'dist')
const draft = join(root, 'dist.new')
const former = join(root, 'dist.old')
const stampName = 'sources.sha256'

/** Whether dist/ was built from the current sources. */
export function isBuilt() {
  try {
    return readFileSync(join(dist, stampName), 'utf8') === hashSources()
  } catch {
    return false
  }
}

/** Whether there is a dist/, built from any sources. */
export const hasBuild = () => existsSync(join(dist, stampName))

/** Compiles into another folder and then swaps it in, so that a half-built dist/ never runs. */
export async function build() {
  say('building dist/')
  rmSync(draft, { recursive: true, force: true })
  const stamp = hashSources()
  try {
    await buildClient(join(draft, 'client'))
    await buildService(draft)
    await buildConsole(join(draft, 'console'))
    await buildCli(draft)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw error
  } finally {
    await stopCompiler()
  }
  writeFileSync(join(draft, stampName), stamp)
  rmSync(former, { recursive: true, force: true })
  if (existsSync(dist)) renameSync(dist, former)
  renameSync(draft, dist)
  rmSync(former, { recursive: true, force: true })
}

/**
 * The compiler is a separate process that would live as long as this one, like the service that `npm start` starts
 * here.
 */
async function stopCompiler() {
  const { stop } = await import('esbuild')
  await stop()
}

function hashSources() {
  const service = readdirSync(join(root, 'src'), { recursive: true })
    .filter((path) => /\.m?[tj]s$/.test(path))
    .map((path) => join('src', path))
  const sources = [...service, ...consoleSources()]
  const hash = createHash('sha256')
  for (const path of [
    'tsconfig.json',
    'tsconfig.build.json',
    'package.json',
    'package-lock.json',
    ...sources.sort(),
  ]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0')
  }
  return hash.digest('hex')
}
