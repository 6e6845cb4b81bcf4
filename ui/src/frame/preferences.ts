/** Own preferences, in the browser. No secrets here. */
import { create } from 'zustand';
import { LANGUAGES, type Language, setLanguage } from '../messages';

export interface Preferences {
  language: Language;
  theme: 'system' | 'light' | 'dark';
  utc: boolean;
  density: 'normal' | 'dense';
  /** Single letters as shortcuts (WCAG 2.1.4: can be switched off). */
  letterKeys: boolean;
  motion: 'system' | 'none';
}

const PLACE = 'pawl.preferences';

function first(): Preferences {
  const language = navigator.languages?.some((one) => one.toLowerCase().startsWith('ru')) ? 'ru' : 'en';
  const standard: Preferences = { language, theme: 'system', utc: false, density: 'normal', letterKeys: true, motion: 'system' };
  try {
    const kept = JSON.parse(localStorage.getItem(PLACE) ?? '{}') as Partial<Preferences>;
    const merged = { ...standard, ...kept };
    return LANGUAGES.includes(merged.language) ? merged : { ...merged, language };
  } catch {
    // Storage can be forbidden or hold what an older UI wrote: the standard is right then.
    return standard;
  }
}

export const usePreferences = create<Preferences>(first);

function show({ theme, density, motion }: Preferences): void {
  const root = document.documentElement.dataset;
  if (theme === 'system') delete root.theme;
  else root.theme = theme;
  root.density = density;
  if (motion === 'none') root.motion = 'none';
  else delete root.motion;
}

export async function setPreferences(change: Partial<Preferences>): Promise<void> {
  if (change.language) await setLanguage(change.language);
  usePreferences.setState(change);
  const all = usePreferences.getState();
  show(all);
  try {
    localStorage.setItem(PLACE, JSON.stringify(all));
  } catch {
    // Not kept for the next visit; it holds for this one.
  }
}

/** Before the first render. */
export async function applyPreferences(): Promise<void> {
  const all = usePreferences.getState();
  show(all);
  await setLanguage(all.language);
  window.addEventListener('storage', (event) => event.key === PLACE && void follow());
}

/** Another tab has set them: this one looks the same. */
async function follow(): Promise<void> {
  const all = first();
  await setLanguage(all.language);
  usePreferences.setState(all);
  show(all);
}
