import { render } from 'preact'
import { saveFile } from '../parts/browser/files.ts'
import { Drawing } from './draw/drawing.tsx'
import type { Size } from './draw/layout.ts'
import { layoutOf } from './draw/layout-of.ts'
import { lightPalette } from './draw/palette.ts'
import { cutTo } from './draw/text.ts'
import type { ChartData } from './read/chart-data.ts'

const pictureSize: Size = { width: 960, height: 540 }

/** The chart as a self-contained SVG document: light colours on white, with its title and what was left out on top. */
export function chartSvg(data: ChartData, { width, height } = pictureSize): string {
  const heading = [data.title, ...data.notes].map((line) => cutTo(line, width - 24))
  const layout = layoutOf(data, { width, height }, 12 + heading.length * 17)
  const holder = document.createElement('div')
  render(
    <Drawing data={data} layout={layout} palette={lightPalette()} id="chart" heading={heading} />,
    holder,
  )
  const svg = holder.firstElementChild!
  svg.removeAttribute('aria-hidden')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', data.title)
  const text = new XMLSerializer().serializeToString(svg)
  render(null, holder)
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`
}

export function downloadSvg(data: ChartData): void {
  saveFile(`${fileName(data)}.svg`, new Blob([chartSvg(data)], { type: 'image/svg+xml' }))
}

/** The same picture with two pixels for each, for high-resolution screens. */
export async function downloadPng(data: ChartData): Promise<void> {
  saveFile(`${fileName(data)}.png`, await chartPng(data))
}

async function chartPng(data: ChartData): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([chartSvg(data)], { type: 'image/svg+xml' }))
  try {
    const image = new Image()
    image.src = address
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.naturalWidth * 2
    canvas.height = image.naturalHeight * 2
    canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height)
    return await new Promise<Blob>((resolve, reject) =>
      canvas.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error('The picture is too large.'))),
        'image/png',
      ),
    )
  } finally {
    URL.revokeObjectURL(address)
  }
}

/** Letters, digits and hyphens of any language. */
const fileName = ({ title }: ChartData) =>
  title
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 80) || 'chart'
