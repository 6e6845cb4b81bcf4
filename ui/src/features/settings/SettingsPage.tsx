import { type Preferences, setPreferences, usePreferences } from '../../frame/preferences';
import { LANGUAGES, useT } from '../../messages';
import { Checkbox, Field, Select } from '../../ui/Field';
import { Page, Panel } from '../../ui/Page';
import { About } from './About';
import { Filters } from './Filters';
import css from './Settings.module.css';
import { You } from './You';

export default function SettingsPage() {
  const t = useT();
  return (
    <Page scroll title={t('frame.nav_settings')}>
      <div className={css.panels}>
        <Looks />
        <div className={css.column}>
          <Keyboard />
          <Filters />
          <You />
        </div>
        <About />
      </div>
    </Page>
  );
}

function Looks() {
  const t = useT();
  const own = usePreferences();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const set = (change: Partial<Preferences>) => void setPreferences(change);
  return (
    <Panel title={t('settings.looks')}>
      <div className={css.form}>
        <Choice
          label={t('settings.language')}
          value={own.language}
          choices={LANGUAGES.map((value) => ({ value, name: t(`settings.language_${value}`) }))}
          onValue={(language) => set({ language })}
        />
        <Choice
          label={t('settings.theme')}
          value={own.theme}
          choices={(['system', 'light', 'dark'] as const).map((value) => ({ value, name: t(`settings.theme_${value}`) }))}
          onValue={(theme) => set({ theme })}
        />
        <Choice
          label={t('settings.times')}
          value={own.utc ? 'utc' : 'local'}
          choices={[
            { value: 'local', name: t('settings.times_local', { zone }) },
            { value: 'utc', name: t('settings.times_utc') },
          ]}
          onValue={(value) => set({ utc: value === 'utc' })}
        />
        <Choice
          label={t('settings.density')}
          value={own.density}
          choices={(['normal', 'dense'] as const).map((value) => ({ value, name: t(`settings.density_${value}`) }))}
          onValue={(density) => set({ density })}
        />
        <Choice
          label={t('settings.motion')}
          value={own.motion}
          choices={(['system', 'none'] as const).map((value) => ({ value, name: t(`settings.motion_${value}`) }))}
          onValue={(motion) => set({ motion })}
        />
        <p className={css.note}>{t('settings.kept')}</p>
      </div>
    </Panel>
  );
}

function Choice<V extends string>({
  label,
  value,
  choices,
  onValue,
}: {
  label: string;
  value: V;
  choices: readonly { value: V; name: string }[];
  onValue: (value: V) => void;
}) {
  return (
    <Field label={label} className={css.choice}>
      {(ids) => <Select {...ids} choices={choices} value={value} onValue={(given) => onValue(given as V)} />}
    </Field>
  );
}

function Keyboard() {
  const t = useT();
  const letterKeys = usePreferences((state) => state.letterKeys);
  return (
    <Panel title={t('settings.keyboard')}>
      <Checkbox
        label={t('settings.letters')}
        checked={letterKeys}
        onChange={(event) => void setPreferences({ letterKeys: event.target.checked })}
      />
      <p className={css.note}>{t('settings.letters_hint')}</p>
    </Panel>
  );
}
