/** Whether a number of 64 bits holds the decimal number of a text: `whole` is a whole one that it does not hold. */
export function heldByDouble(text: string): 'exact' | 'rounded' | 'whole' {
  if (significantDigits(text).length <= exactDigits && Math.abs(Number(text)) < tooLarge) return 'exact'
  const value = Number(text)
  const isWhole = !/\.\d*[1-9]/.test(text)
  if (isWhole) {
    const [digits] = text.split('.')
    return Number.isFinite(value) && BigInt(value) === BigInt(digits!) ? 'exact' : 'whole'
  }
  return significantDigits(text) === significantDigits(String(value)) ? 'exact' : 'rounded'
}

/** Without sign, point, exponent and the zeros around. */
export function significantDigits(text: string): string {
  return text
    .replace(/e.*$/i, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
}

/** Digits before and behind the point of a decimal number. */
export function digitsAround(text: string): Readonly<{ whole: number; decimals: number }> {
  const [mantissa, exponent = '0'] = text.replace(/^-/, '').toLowerCase().split('e')
  const [before = '', behind = ''] = mantissa!.split('.')
  const shift = Number(exponent)
  return {
    whole: Math.max(1, before.length + shift),
    decimals: Math.max(0, behind.replace(/0+$/, '').length - shift),
  }
}

export const exactDigits = 15
const tooLarge = 1e300
