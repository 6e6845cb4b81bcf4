import { Outlet, useRouterState } from '@tanstack/react-router';
import { Activity, CalendarClock, Home, Keyboard, Languages, Moon, Play, Search, Settings, Stethoscope, Sun, Workflow } from 'lucide-react';
import { type ReactNode, Suspense, useState } from 'react';
import type { RunTopic, Topic } from '../api/live';
import { useLiveEvents } from '../api/queries';
import { useT } from '../messages';
import { Button, IconButton } from '../ui/Button';
import { Menu } from '../ui/Menu';
import { Skeleton } from '../ui/Skeleton';
import { Toasts } from '../ui/Toast';
import { Banner } from './Banner';
import { type Command, useCommands } from './commands';
import css from './Frame.module.css';
import { KeysHelp } from './KeysHelp';
import { useKeys } from './keys';
import { askToLeave, Leaving } from './Leaving';
import { LiveDot } from './LiveDot';
import { Logo } from './Logo';
import { go, Link } from './navigate';
import { PageBoundary } from './PageBoundary';
import { Palette } from './Palette';
import { setPreferences, usePreferences } from './preferences';
import { useMe } from './session';
import { useVisited } from './visited';

const ALWAYS: Topic[] = ['schemas'];
const NO_RUNS: RunTopic[] = [];
const OPERATIONS = ['dead-letters', 'workers', 'quotas', 'doctor'] as const;

/** What is around every page: navigation, palette, banner, toasts, keys. */
export function Frame() {
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  useKeys();
  useFrameCommands(
    () => setPalette(true),
    () => setHelp(true),
  );
  // One stream is always open: so every screen notices at once that the server is gone, and that it is back.
  useLiveEvents(ALWAYS, NO_RUNS, () => undefined);
  const t = useT();
  return (
    <div className={css.frame}>
      <a className={css.skip} href="#page">
        {t('frame.skip')}
      </a>
      <header className={css.bar}>
        <Navigation />
        <button type="button" className={css.search} onClick={() => setPalette(true)}>
          <Search aria-hidden />
          <span>{t('frame.search')}</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Switches onHelp={() => setHelp(true)} />
      </header>
      <Banner />
      <main id="page" className={css.page} tabIndex={-1}>
        <PageBoundary>
          <Suspense fallback={<Skeleton rows={10} />}>
            <Outlet />
          </Suspense>
        </PageBoundary>
      </main>
      {palette && <Palette onClose={() => setPalette(false)} />}
      {help && <KeysHelp onClose={() => setHelp(false)} />}
      <Leaving />
      <Toasts />
    </div>
  );
}

function Navigation() {
  const t = useT();
  const operations = OPERATIONS.map((name) => ({ name: t(`frame.nav_${name}`), act: () => go(`/${name}`) }));
  return (
    <nav className={css.nav} aria-label={t('frame.navigation')}>
      <Link href="/" className={css.logo} aria-label={`Pawl, ${t('frame.nav_overview')}`}>
        <Logo />
        <span>Pawl</span>
      </Link>
      <Place href="/" exact>
        {t('frame.nav_overview')}
      </Place>
      <Place href="/runs">{t('frame.nav_runs')}</Place>
      <Place href="/schemas">{t('frame.nav_schemas')}</Place>
      <Place href="/schedules">{t('frame.nav_schedules')}</Place>
      <Menu items={operations} label={t('frame.nav_operations')}>
        <Button kind="quiet" className={css.more}>
          {t('frame.nav_operations')} <span aria-hidden>▾</span>
        </Button>
      </Menu>
    </nav>
  );
}

function Place({ href, exact, children }: { href: string; exact?: boolean; children: ReactNode }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const here = exact ? path === href : path === href || path.startsWith(`${href}/`) || path.startsWith(`/new/${href.slice(1, -1)}`);
  return (
    <Link href={href} className={css.place} aria-current={here ? 'page' : undefined}>
      {children}
    </Link>
  );
}

function useDark(): boolean {
  const theme = usePreferences((state) => state.theme);
  return theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
}

function Switches({ onHelp }: { onHelp: () => void }) {
  const t = useT();
  const { language, utc } = usePreferences();
  const dark = useDark();
  const me = useMe();
  const name = me?.login === 'none' ? t('frame.you') : (me?.created_by ?? t('frame.you'));
  return (
    <div className={css.switches}>
      <LiveDot />
      <Button kind="quiet" size="small" aria-pressed={utc} title={t('frame.utc_hint')} onClick={() => setPreferences({ utc: !utc })}>
        {utc ? 'UTC' : t('common.local_time')}
      </Button>
      <IconButton
        size="small"
        name={t(dark ? 'frame.light' : 'frame.dark')}
        icon={dark ? <Sun /> : <Moon />}
        onClick={() => setPreferences({ theme: dark ? 'light' : 'dark' })}
      />
      <Button
        kind="quiet"
        size="small"
        lang={language === 'en' ? 'ru' : 'en'}
        title={t('frame.other_language')}
        onClick={() => setPreferences({ language: language === 'en' ? 'ru' : 'en' })}
      >
        {language === 'en' ? 'RU' : 'EN'}
      </Button>
      <Menu
        label={name}
        items={[
          { group: me ? `${name} · ${t.name('common', 'role', me.role)}` : name },
          { name: t('frame.nav_keys'), act: () => go('/keys') },
          { name: t('frame.nav_settings'), act: () => go('/settings') },
          { name: t('frame.keys_help'), hint: '?', act: onHelp },
          { name: t('frame.api_docs'), act: () => window.open('/api/docs', '_blank', 'noopener') },
          me?.login === 'session' && 'line',
          me?.login === 'session' && { name: t('frame.logout'), act: () => void askToLeave() },
        ]}
      >
        <Button kind="quiet" size="small">
          <span className={css.you}>{name}</span> <span aria-hidden>▾</span>
        </Button>
      </Menu>
    </div>
  );
}

function useFrameCommands(openPalette: () => void, openHelp: () => void): void {
  const t = useT();
  const dark = useDark();
  const { language, utc } = usePreferences();
  const step = useVisited();
  const to = (id: string, href: string, name: string, icon: ReactNode, keys?: string): Command => ({
    id,
    name,
    icon,
    keys,
    group: 'go',
    act: () => go(href),
  });
  useCommands([
    { id: 'palette', name: t('frame.search'), keys: 'Ctrl+K', group: 'settings', keyOnly: true, everywhere: true, act: openPalette },
    { id: 'keys', name: t('frame.keys_help'), icon: <Keyboard />, keys: '?', group: 'settings', act: openHelp },
    { id: 'visited.back', name: t('frame.visited_back'), keys: '[', group: 'go', keyOnly: true, act: () => step(-1) },
    { id: 'visited.forward', name: t('frame.visited_forward'), keys: ']', group: 'go', keyOnly: true, act: () => step(1) },
    {
      id: 'filter',
      name: t('frame.focus_filter'),
      keys: '/',
      group: 'settings',
      keyOnly: true,
      act: () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
    },
    to('go.overview', '/', t('frame.nav_overview'), <Home />, 'g o'),
    to('go.runs', '/runs', t('frame.nav_runs'), <Play />, 'g r'),
    to('go.schemas', '/schemas', t('frame.nav_schemas'), <Workflow />, 'g s'),
    to('go.schedules', '/schedules', t('frame.nav_schedules'), <CalendarClock />, 'g c'),
    to('go.doctor', '/doctor', t('frame.nav_doctor'), <Stethoscope />, 'g d'),
    to('go.letters', '/dead-letters', t('frame.nav_dead-letters'), <Activity />),
    to('go.workers', '/workers', t('frame.nav_workers'), <Activity />),
    to('go.quotas', '/quotas', t('frame.nav_quotas'), <Activity />),
    to('go.new_schema', '/new/schema', t('frame.new_schema'), <Workflow />),
    to('go.new_schedule', '/new/schedule', t('frame.new_schedule'), <CalendarClock />),
    to('go.keys', '/keys', t('frame.nav_keys'), <Settings />),
    to('go.settings', '/settings', t('frame.nav_settings'), <Settings />),
    {
      id: 'theme',
      name: t(dark ? 'frame.light' : 'frame.dark'),
      icon: dark ? <Sun /> : <Moon />,
      group: 'settings',
      act: () => void setPreferences({ theme: dark ? 'light' : 'dark' }),
    },
    {
      id: 'language',
      name: t('frame.other_language'),
      icon: <Languages />,
      group: 'settings',
      act: () => void setPreferences({ language: language === 'en' ? 'ru' : 'en' }),
    },
    {
      id: 'utc',
      name: t(utc ? 'frame.show_local' : 'frame.show_utc'),
      icon: <CalendarClock />,
      group: 'settings',
      act: () => void setPreferences({ utc: !utc }),
    },
  ]);
}
