import { Component, type ReactNode } from 'react';
import { translateNow } from '../messages';
import { Problem } from '../ui/Problem';

/** A page that throws does not take the frame down. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Problem error={this.state.error} title={translateNow()('common.page_failed')} onRetry={() => this.setState({ error: null })} />;
  }
}
