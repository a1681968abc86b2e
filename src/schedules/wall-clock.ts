/** The clock on the wall of a time zone. What it shows is a number of milliseconds, as if it showed UTC. */
export class WallClock {
  readonly #format: Intl.DateTimeFormat

  constructor(timezone: string) {
    this.#format = formatOf(timezone)
  }

  /** How far the clock is ahead of UTC. */
  offsetAt(time: number): number {
    // Such as 03/29/2026, 02:30:00.
    const [month, day, year, hour, minute, second] = this.#format.format(time).match(/\d+/g)!.map(Number)
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - Math.floor(time / 1000) * 1000
  }

  /** The first time at which the clock shows this. If it never does, as it is set forward: when it is set. */
  firstTime(shown: number): Readonly<{ time: number; isLeftOut: boolean }> {
    const [before, after] = [this.offsetAt(shown - reachMs), this.offsetAt(shown + reachMs)]
    const times = [shown - before, shown - after].filter((time) => time + this.offsetAt(time) === shown)
    if (times.length > 0) return { time: Math.min(...times), isLeftOut: false }
    return { time: this.setAfter(shown - reachMs, shown + reachMs, before), isLeftOut: true }
  }

  /** When the clock is set, between two times; until then it has this offset. */
  setAfter(from: number, to: number, offset: number): number {
    let [low, high] = [from, to]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetAt(middle) === offset) low = middle
      else high = middle
    }
    return high
  }
}

/** One formatter for each time zone, because making one is slow. */
function formatOf(timezone: string): Intl.DateTimeFormat {
  let format = formats.get(timezone)
  if (!format) {
    const two = '2-digit'
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      ...{ month: two, day: two, hour: two, minute: two, second: two },
    })
    formats.set(timezone, format)
  }
  return format
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** A little more than the largest offset, and less than the time between two settings of a clock. */
export const reachMs = 26 * 3_600_000
