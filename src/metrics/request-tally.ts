import type { Metric, Registry } from 'prom-client'

export type FinishedRequest = Readonly<{
  method: string
  /** The pattern of the route, never the requested path. */
  route: string
  status: number | 'aborted'
  keyType: 'master' | 'default' | 'regular' | 'none'
  seconds: number
}>

/**
 * Counts requests and their times, in figures that prom-client only renders: prom-client itself looks figures up by a
 * string of all labels, built for every request, which takes 3 % of a short query.
 */
export function tallyRequests(registry: Registry): (request: FinishedRequest) => void {
  const tallies = new Map<string, Map<string, Tally>>()
  const all = () => [...tallies.values()].flatMap((ofMethods) => [...ofMethods.values()])
  register(registry, {
    name: 'cartage_requests_total',
    help: 'Requests answered, by route, status and type of the key; aborted: the answer was cut short',
    type: 'counter',
    values: () => all().flatMap(countsOf),
  })
  register(registry, {
    name: timesName,
    help: 'Time from the first byte of a request to the last of its answer',
    type: 'histogram',
    values: () => all().flatMap(timesOf),
  })
  return (request) => count(tallyOf(tallies, request), request)
}

/** For the requests of one method to one route. */
type Tally = {
  readonly labels: Readonly<{ method: string; route: string }>
  readonly statuses: Map<FinishedRequest['status'], Record<FinishedRequest['keyType'], number>>
  /**
   * Histogram counts: requests up to the limit at the same index and above the previous one; the last entry: above all
   * limits.
   */
  readonly times: number[]
  seconds: number
  requests: number
}

const timesName = 'cartage_request_seconds'
const limits = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120, 600, 3600]

function tallyOf(tallies: Map<string, Map<string, Tally>>, { route, method }: FinishedRequest): Tally {
  const known = tallies.get(route)?.get(method)
  if (known) return known
  const labels = { method, route }
  const times = new Array<number>(limits.length + 1).fill(0)
  const tally = { labels, statuses: new Map(), times, seconds: 0, requests: 0 }
  tallies.set(route, (tallies.get(route) ?? new Map()).set(method, tally))
  return tally
}

function count(tally: Tally, { status, keyType, seconds }: FinishedRequest): void {
  let counts = tally.statuses.get(status)
  if (!counts) {
    counts = { master: 0, default: 0, regular: 0, none: 0 }
    tally.statuses.set(status, counts)
  }
  counts[keyType] += 1
  let place = 0
  while (place < limits.length && seconds > limits[place]!) place += 1
  tally.times[place]! += 1
  tally.seconds += seconds
  tally.requests += 1
}

type MetricValue = Readonly<{
  metricName?: string
  labels: Readonly<Record<string, string | number>>
  value: number
}>

function countsOf({ labels, statuses }: Tally): MetricValue[] {
  return [...statuses].flatMap(([status, counts]) =>
    Object.entries(counts)
      .filter(([, value]) => value > 0)
      .map(([key_type, value]) => ({ labels: { ...labels, status, key_type }, value })),
  )
}

function timesOf({ labels, times, seconds, requests }: Tally): MetricValue[] {
  let sum = 0
  const buckets = times.map((value, place) => {
    sum += value
    return {
      metricName: `${timesName}_bucket`,
      labels: { le: limits[place] ?? '+Inf', ...labels },
      value: sum,
    }
  })
  return [
    ...buckets,
    { metricName: `${timesName}_sum`, labels, value: seconds },
    { metricName: `${timesName}_count`, labels, value: requests },
  ]
}

type Figure = Readonly<{
  name: string
  help: string
  type: 'counter' | 'histogram'
  values: () => readonly MetricValue[]
}>

/** A registry needs no more than this, whatever its types say. */
function register(registry: Registry, { values, ...about }: Figure): void {
  const get = async () => ({ ...about, values: values() })
  registry.registerMetric({ ...about, get } as unknown as Metric)
}
