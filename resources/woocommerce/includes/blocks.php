<?php
/** The payment method in the checkout that is made of blocks. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Blocks extends \Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType {
	private const SCRIPT = 'countinghouse-blocks';

	protected $name = Settings::GATEWAY;

	public function initialize() {
		$this->settings = get_option( Settings::OPTION, array() );
	}

	public function is_active() {
		$gateways = WC()->payment_gateways()->payment_gateways();
		return isset( $gateways[ $this->name ] ) && $gateways[ $this->name ]->is_available();
	}

	public function get_payment_method_script_handles() {
		$needs = array( 'wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities' );
		wp_register_script( self::SCRIPT, plugins_url( 'assets/blocks.js', FILE ), $needs, '1.2.0', true );
		return array( self::SCRIPT );
	}

	public function get_payment_method_data() {
		return array(
			'title'       => Settings::title(),
			'description' => Settings::description(),
			'icon'        => plugins_url( 'assets/icon.svg', FILE ),
			'supports'    => array( 'products' ),
		);
	}
}
