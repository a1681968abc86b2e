import countriesName from 'geodata:countries'
import { signal } from '@preact/signals'
import { assetAddress } from './address.ts'
import { navigate } from './route.ts'

/** The sample data that the upload page is to load without further questions. */
export const sampleFile = signal<File | undefined>(undefined)

/** Loads the countries of the world into a new table, as any other file is loaded. */
export async function loadSample(): Promise<void> {
  const answer = await fetch(assetAddress(countriesName))
  if (!answer.ok) throw new Error('The sample data could not be read. Reload the page and try again.')
  sampleFile.value = new File([await answer.blob()], 'countries.geojson')
  navigate('/upload')
}
