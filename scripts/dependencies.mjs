import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runStep, say } from './run.mjs'

/** Whether node_modules has what package-lock.json requires; npm keeps its own list of what it installed. */
export function areDependenciesInstalled() {
  const wanted = readPackages('package-lock.json')
  const present = readPackages('node_modules/.package-lock.json')
  if (!wanted || !present) return false
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true
    return present[path] ? present[path].version === version : optional || devOptional
  })
}

export async function installDependencies() {
  say('installing the npm packages of package-lock.json')
  // The compiler is a development dependency, and a fresh clone must compile even if NODE_ENV is production.
  await runStep('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'])
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8')).packages
  } catch {
    return undefined
  }
}
