import { build, isBuilt } from './build.mjs'
import { areDependenciesInstalled, installDependencies } from './dependencies.mjs'
import { oneAtATime } from './one-at-a-time.mjs'
import { providePostgres } from './postgres.mjs'

/** What every command needs first: npm packages, dist/, and a PostgreSQL unless one is configured. Quick when all is there. */
export async function prepare({ needsBuild = true } = {}) {
  const isToBuild = () => needsBuild && !isBuilt()
  if (!areDependenciesInstalled() || isToBuild()) {
    await oneAtATime(async () => {
      if (!areDependenciesInstalled()) await installDependencies()
      if (isToBuild()) await build()
    })
  }
  if (!process.env.CARTAGE_DATABASE_URL?.trim()) await providePostgres()
}
