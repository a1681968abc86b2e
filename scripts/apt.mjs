import { spawnSync } from 'node:child_process'
import { runStep, say } from './run.mjs'

/** What to put before a command so that root runs it; undefined: packages cannot be installed here. */
export function waysToInstall() {
  if (!isThere('apt-get')) return undefined
  if (process.getuid?.() === 0) return []
  return isThere('sudo', '-n', 'true') ? ['sudo', '-n'] : undefined
}

export async function installPackages(asRoot, packages) {
  const withoutQuestions = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'LC_ALL=C.UTF-8']
  const patiently = ['-o', 'DPkg::Lock::Timeout=120', '-o', 'Acquire::Retries=3']
  const keepingSettings = ['-o', 'Dpkg::Options::=--force-confold']
  await showTwice([...withoutQuestions, 'apt-get', 'update', ...patiently])
  await showTwice([
    ...withoutQuestions,
    'apt-get',
    'install',
    '--yes',
    '--no-install-recommends',
    ...patiently,
    ...keepingSettings,
    ...packages,
  ])
}

/** A mirror may be out of reach for a moment. */
async function showTwice(command) {
  try {
    await show(command)
  } catch (error) {
    if (error.exitCode > 128) throw error
    say('that failed: trying once more')
    await show(command)
  }
}

export async function show([program, ...args]) {
  say(`$ ${[program, ...args].map(quote).join(' ')}`)
  await runStep(program, args)
}

/** As one would type it. */
function quote(word) {
  return /^[\w./:=@-]+$/.test(word) ? word : `"${word}"`
}

export function isThere(program, ...args) {
  return spawnSync(program, args.length > 0 ? args : ['--version'], { stdio: 'ignore' }).status === 0
}
