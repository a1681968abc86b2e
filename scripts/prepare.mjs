import { build, hasBuild, isBuilt } from './build.mjs'
import { areDependenciesInstalled, installDependencies } from './dependencies.mjs'
import { provideConverter } from './gdal.mjs'
import { oneAtATime } from './one-at-a-time.mjs'
import { providePostgres } from './postgres.mjs'
import { provideServiceUser } from './service-user.mjs'

/**
 * What every command needs first: npm packages, dist/, a PostgreSQL unless one is configured, GDAL with its sandbox,
 * and root's system user. Fast when everything is there. Without `needsBuild` an older dist/ is enough, but there must
 * be one: it finds PostgreSQL.
 */
export async function prepare({ needsBuild = true } = {}) {
  const isToBuild = () => (needsBuild ? !isBuilt() : !hasBuild())
  if (!areDependenciesInstalled() || isToBuild()) {
    await oneAtATime(async () => {
      if (!areDependenciesInstalled()) await installDependencies()
      if (isToBuild()) await build()
    })
  }
  if (!process.env.CARTAGE_DATABASE_URL?.trim()) await providePostgres()
  await provideConverter()
  await provideServiceUser()
}
