import type { Pool } from 'pg'
import type { Account, Principal } from '../auth/account.ts'
import { dashboardNameRule, isDashboardName, maxDashboards } from '../contract/dashboards.ts'
import { errors } from '../errors.ts'
import {
  type DashboardHead,
  deleteDashboard,
  findDashboard,
  findPartQueries,
  listDashboards,
  type PartQuery,
  type StoredDashboard,
  saveDashboard,
} from './dashboard-store.ts'
import type { ExpectedDashboard } from './dashboard-version.ts'
import { readDashboard } from './read-dashboard.ts'

/** A dashboard, with the queries of its parts that the caller may try to run. */
export type ShownDashboard = StoredDashboard & Readonly<{ queries: readonly PartQuery[] }>

/** Dashboards of an account: saved queries on a grid. They hold no rows; those come from the queries. */
export class Dashboards {
  readonly #control: Pool

  constructor(control: Pool) {
    this.#control = control
  }

  /** Makes it, or replaces the one of this name, if that is as expected. A part may name a query that is not there, or not yet. */
  async save(
    { account }: Principal,
    name: string,
    body: unknown,
    expected: ExpectedDashboard | undefined,
  ): Promise<Readonly<{ dashboard: ShownDashboard; isNew: boolean }>> {
    if (!isDashboardName(name))
      throw errors.dashboardInvalid(`The name of a dashboard must have ${dashboardNameRule}`)
    const saved = await saveDashboard(this.#control, account, name, readDashboard(body), expected)
    if (saved === 'changed') throw errors.dashboardChanged(name)
    if (saved === 'too-many') throw errors.tooManyDashboards(maxDashboards)
    return { ...saved, dashboard: await this.#withQueries(account, saved.dashboard, false) }
  }

  /** The master key reads all; other callers those that are public. */
  async read({ account, key }: Principal, name: string): Promise<ShownDashboard> {
    const dashboard = await this.#find(account, name)
    if (!dashboard.isPublic && key.type !== 'master') throw notFound(account, name)
    return this.#withQueries(account, dashboard, key.type === 'default')
  }

  list({ account }: Principal): Promise<readonly DashboardHead[]> {
    return listDashboards(this.#control, account)
  }

  /** If it is as expected. */
  async delete({ account }: Principal, name: string, expected: ExpectedDashboard | undefined): Promise<void> {
    if (!isDashboardName(name)) throw notFound(account, name)
    const outcome = await deleteDashboard(this.#control, account, name, expected)
    if (outcome === 'missing') throw notFound(account, name)
    if (outcome === 'changed') throw errors.dashboardChanged(name)
  }

  /** For its page, which needs no key. */
  async open(account: Account, name: string): Promise<DashboardHead> {
    const dashboard = await this.#find(account, name)
    if (!dashboard.isPublic) throw notFound(account, name)
    return dashboard
  }

  async #find(account: Account, name: string): Promise<StoredDashboard> {
    const dashboard = isDashboardName(name) && (await findDashboard(this.#control, account, name))
    if (!dashboard) throw notFound(account, name)
    return dashboard
  }

  async #withQueries(
    account: Account,
    dashboard: StoredDashboard,
    isPublicOnly: boolean,
  ): Promise<ShownDashboard> {
    const names = dashboard.content.parts.map(({ query }) => query)
    return { ...dashboard, queries: await findPartQueries(this.#control, account, names, isPublicOnly) }
  }
}

const notFound = ({ username }: Account, name: string) =>
  errors.dashboardNotFound(name.slice(0, 128), username)
