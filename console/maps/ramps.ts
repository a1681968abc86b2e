/** Colours from low to high. */
export const ramps = {
  Viridis: ['#fde725', '#6ece58', '#1fa187', '#31688e', '#440154'],
  Blues: ['#dbe9f6', '#9ac8e0', '#529dcc', '#1c6cb1', '#08306b'],
  Reds: ['#fee5d9', '#fcae91', '#fb6a4a', '#cb181d', '#67000d'],
  'Blue to red': ['#2166ac', '#92c5de', '#f7f7f7', '#f4a582', '#b2182b'],
} as const
export type RampName = keyof typeof ramps
export const rampNames = Object.keys(ramps) as readonly RampName[]

/** Distinguishable for most colour-blind people. */
export const categoryColours = [
  ...['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9'],
  ...['#d55e00', '#b8a600', '#7f5fc0', '#6b3e1d', '#2f4b7c'],
]
export const otherColour = '#8a8f98'

/** This many colours of a ramp, evenly spaced. */
export function coloursIn(ramp: RampName, count: number): readonly string[] {
  const anchors = ramps[ramp]
  return Array.from({ length: count }, (_, at) => {
    const place = count === 1 ? anchors.length - 1 : (at * (anchors.length - 1)) / (count - 1)
    const [low, high] = [anchors[Math.floor(place)]!, anchors[Math.ceil(place)]!]
    return mixed(low, high, place % 1)
  })
}

function mixed(one: string, other: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [one, other].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16))
    return Math.round(a! + (b! - a!) * share)
      .toString(16)
      .padStart(2, '0')
  })
  return `#${parts.join('')}`
}
