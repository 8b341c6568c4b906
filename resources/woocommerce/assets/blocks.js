/** Shows the payment method in WooCommerce's checkout of blocks. Everything it needs is WooCommerce's and WordPress's own. */
(() => {
  const { registerPaymentMethod } = window.wc.wcBlocksRegistry;
  const { createElement } = window.wp.element;
  const { decodeEntities } = window.wp.htmlEntities;
  const data = window.wc.wcSettings.getSetting('countinghouse_data', {});
  const title = decodeEntities(data.title || 'Cryptocurrency');
  const content = createElement('div', null, decodeEntities(data.description || ''));
  const icon = data.icon ? createElement('img', { src: data.icon, alt: '', width: 24, height: 24 }) : null;
  registerPaymentMethod({
    name: 'countinghouse',
    label: createElement('span', { style: { display: 'inline-flex', gap: '8px' } }, icon, title),
    ariaLabel: title,
    content,
    edit: content,
    canMakePayment: () => true,
    supports: { features: data.supports || ['products'] },
  });
})();
