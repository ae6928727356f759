import {may} from '../../api/session';
import {here} from '../../router';
import {Choices, PageHead} from '../../ui/list';
import {Audit} from './audit';
import {MeTab} from './me';
import {Policy} from './policy';
import {Signins} from './signins';
import {Tokens} from './tokens';

function tabs() {
  return [
    {value: 'me', label: 'Me', isShown: true, component: MeTab},
    {value: 'signins', label: 'Sign-ins', isShown: true, component: Signins},
    {value: 'tokens', label: 'Tokens', isShown: may('administer'), component: Tokens},
    {value: 'policy', label: 'Policy', isShown: may('read_policy'), component: Policy},
    {value: 'audit', label: 'Audit', isShown: may('administer'), component: Audit},
  ].filter(tab => tab.isShown);
}

export function SettingsPage() {
  const shown = tabs();
  const chosen = here.value.query.get('tab') ?? 'me';
  const Tab = (shown.find(tab => tab.value === chosen) ?? shown[0]!).component;
  return (
    <div class="page">
      <PageHead title="Settings"><Choices name="tab" values={shown} fallback="me" label="Parts of the settings" /></PageHead>
      <Tab key={chosen} />
    </div>
  );
}
