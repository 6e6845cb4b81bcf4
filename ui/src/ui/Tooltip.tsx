import * as Ariakit from '@ariakit/react';
import type { ReactElement, ReactNode } from 'react';
import css from './Tooltip.module.css';

/** Shown on hover and focus. The child must take a ref and the usual props. */
export function Tooltip({
  text,
  children,
  side = 'bottom',
}: {
  text: ReactNode;
  children: ReactElement;
  side?: 'top' | 'bottom' | 'left' | 'right';
}) {
  return (
    <Ariakit.TooltipProvider timeout={400} placement={side}>
      <Ariakit.TooltipAnchor render={children} />
      <Ariakit.Tooltip className={css.tip} gutter={6} unmountOnHide portal>
        {text}
      </Ariakit.Tooltip>
    </Ariakit.TooltipProvider>
  );
}
