import './dashboard-page.css'
import { render } from 'preact'
import type { DashboardDocument, DashboardFilter } from '../../src/contract/dashboards.ts'
import { requestJson } from '../api/request.ts'
import { showTheme } from '../parts/browser/theme.ts'
import { guardSinks } from '../parts/browser/trusted-types.ts'
import { LiveRegion } from '../parts/live.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Toasts } from '../parts/toast.tsx'
import type { FilterTexts } from '../result/shown-dashboard/read-part.ts'
import { ShownDashboard } from '../result/shown-dashboard/shown-dashboard.tsx'

type Address = Readonly<{ account: string; name: string }>

/** The page of a public dashboard. It has no session: everything is read without a key. */
function DashboardPage({ account, name }: Address) {
  const dashboard = useLoaded(
    (signal) =>
      requestJson<DashboardDocument>('readDashboard', {
        parameters: { name: account, dashboard: name },
        signal,
      }),
    [],
  )
  return (
    <div class="page">
      <div class="shared-dashboard">
        <Load from={dashboard}>
          {(found) => (
            <>
              <h1>{found.title}</h1>
              {found.description && <p class="muted">{found.description}</p>}
              <ShownDashboard
                account={account}
                dashboard={found}
                texts={textsInAddress(found.filters)}
                changed={showInAddress}
              />
            </>
          )}
        </Load>
      </div>
    </div>
  )
}

/** The filter values in the address: a link can show a choice. */
function textsInAddress(filters: readonly DashboardFilter[]): FilterTexts {
  const given = new URLSearchParams(location.search)
  const named = filters.filter(({ param }) => given.has(param))
  return Object.fromEntries(named.map(({ param }) => [param, given.get(param)!]))
}

function showInAddress(texts: FilterTexts): void {
  const address = new URL(location.href)
  for (const [param, text] of Object.entries(texts)) address.searchParams.set(param, text)
  history.replaceState(null, '', address)
}

function addressOfPage(): Address | undefined {
  const [, account, name] = /\/(?:user|u)\/([^/]+)\/dashboard\/([^/]+)\/?$/.exec(location.pathname) ?? []
  if (account === undefined || name === undefined) return undefined
  return { account: decodeURIComponent(account), name: decodeURIComponent(name) }
}

guardSinks()
showTheme()
const app = document.getElementById('dashboard')
const address = addressOfPage()
if (app && address)
  render(
    <>
      <DashboardPage {...address} />
      <Toasts />
      <LiveRegion />
    </>,
    app,
  )
