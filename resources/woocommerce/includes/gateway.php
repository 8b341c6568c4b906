<?php
/** The payment method: makes an invoice for an order and sends the payer to its page. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Gateway extends \WC_Payment_Gateway {
	private const ORDER_ID_CHARACTERS_MAX    = 100;
	private const DESCRIPTION_CHARACTERS_MAX = 500;
	private const CHECK                      = 'countinghouse_check';
	private const NONE                       = 'none';

	public function __construct() {
		$this->id                 = Settings::GATEWAY;
		$this->method_title       = 'Countinghouse';
		$this->method_description = __( 'Cryptocurrency, through your own Countinghouse.', 'countinghouse' );
		$this->has_fields         = false;
		$this->icon               = plugins_url( 'assets/icon.svg', FILE );
		$this->supports           = array( 'products' );
		$this->init_form_fields();
		$this->init_settings();
		$this->title       = Settings::title();
		$this->description = Settings::description();
		add_action( 'woocommerce_update_options_payment_gateways_' . $this->id, array( $this, 'process_admin_options' ) );
		add_action( 'woocommerce_update_options_payment_gateways_' . $this->id, array( Settings::class, 'keep_site' ) );
	}

	public function init_form_fields() {
		$this->form_fields = array(
			'enabled'         => array(
				'title'   => __( 'Enable', 'countinghouse' ),
				'type'    => 'checkbox',
				'label'   => __( 'Take cryptocurrency', 'countinghouse' ),
				'default' => 'no',
			),
			'title'           => array(
				'title'   => __( 'Title', 'countinghouse' ),
				'type'    => 'text',
				'default' => __( 'Cryptocurrency', 'countinghouse' ),
			),
			'description'     => array(
				'title'   => __( 'Description', 'countinghouse' ),
				'type'    => 'textarea',
				'default' => __( 'You choose the coin on the next page. No account is needed.', 'countinghouse' ),
			),
			'base_url'        => array(
				'title'       => __( 'Address of the service', 'countinghouse' ),
				'type'        => 'text',
				'default'     => '',
				'placeholder' => 'https://pay.example.com',
				'description' => __( 'https, or http on this machine or in a private network.', 'countinghouse' ),
			),
			'api_key'         => array(
				'title'       => __( 'API key', 'countinghouse' ),
				'type'        => 'password',
				'default'     => '',
				'description' => __( 'The scope "invoices" is enough; asking for refunds needs "refund" too.', 'countinghouse' ),
			),
			'endpoint_secret' => array(
				'title'       => __( 'Endpoint secret', 'countinghouse' ),
				'type'        => 'password',
				'default'     => '',
				'description' => __( 'What the command below printed: whsec_…', 'countinghouse' ),
			),
			'days'            => array(
				'title'       => __( 'Days to pay', 'countinghouse' ),
				'type'        => 'text',
				'default'     => '1',
				'description' => __( '1 to 30. The price itself holds for an hour.', 'countinghouse' ),
			),
		);
	}

	/** Without a secret no order would ever move on. */
	public function is_available() {
		return parent::is_available()
			&& '' !== Settings::base_url()
			&& '' !== Settings::api_key()
			&& Signature::is_secret( Settings::secret() )
			&& $this->is_enough();
	}

	/** Whether what is to be paid is at least what the service makes an invoice of. Where it does not say, the checkout does. */
	private function is_enough(): bool {
		$order = wc_get_order( absint( get_query_var( 'order-pay' ) ) );
		if ( ! $order instanceof \WC_Order && ! isset( WC()->cart ) ) {
			return true;
		}
		$total = (float) $this->get_order_total();
		$least = $total > 0 ? self::least( $order instanceof \WC_Order ? $order->get_currency() : get_woocommerce_currency() ) : '';
		return self::NONE !== $least && ( '' === $least || $total >= (float) $least );
	}

	/** The least amount of an invoice, NONE for a currency that no invoice can have, or ''. Asked for every few minutes at most. */
	private static function least( string $currency ): string {
		$name  = 'countinghouse_least_' . $currency;
		$known = get_transient( $name );
		if ( is_string( $known ) ) {
			return $known;
		}
		// while it is asked, others do not wait for the answer, too
		set_transient( $name, '', MINUTE_IN_SECONDS );
		try {
			$least = Client::minimum( $currency );
		} catch ( Failure $failure ) {
			$least = 422 === $failure->status ? self::NONE : '';
		}
		if ( '' !== $least ) {
			set_transient( $name, $least, 5 * MINUTE_IN_SECONDS );
		}
		return $least;
	}

	public function process_payment( $order_id ) {
		try {
			$url = Orders::alone( (int) $order_id, array( $this, 'page_for' ) );
			if ( null === $url ) {
				throw new Failure( __( 'There is no such order.', 'countinghouse' ) );
			}
			return array(
				'result'   => 'success',
				'redirect' => $url,
			);
		} catch ( Failure $failure ) {
			Settings::log( "Order $order_id: " . $failure->getMessage() );
			$sorry = __( 'Paying with cryptocurrency does not work at the moment. Try again, or choose another way.', 'countinghouse' );
			wc_add_notice( esc_html( '' === $failure->about_amount ? $sorry : $failure->about_amount ), 'error' );
			return array( 'result' => 'failure' );
		}
	}

	/** Where the payer goes: the page of the order's invoice, or back to the shop when it is paid already. */
	public function page_for( \WC_Order $order ): string {
		$former = (string) $order->get_meta( Orders::INVOICE );
		$known  = '' === $former ? null : Client::known( $former );
		if ( null !== $known && ! Orders::is_of( $order, $known ) ) {
			Orders::forget_copied( $order );
			$former = '';
			$known  = null;
		}
		if ( null !== $known && 'paid' === $known['status'] ) {
			Orders::apply( $order, $known );
			$order->save();
			return $this->get_return_url( $order );
		}
		if ( null !== $known && 'unpaid' === $known['status'] ) {
			if ( Orders::matches( $order, $known ) ) {
				return $known['invoice_url'];
			}
			self::give_up( $former );
		}
		$body    = $this->body_for( $order );
		$content = wp_json_encode( array( home_url(), $order->get_id(), $order->get_order_key(), $former, $body ) );
		$invoice = Client::create_invoice( $body, 'wc-' . hash( 'sha256', $content ) );
		if ( ! Orders::matches( $order, $invoice ) ) {
			throw new Failure( __( 'The invoice asks for something else than the order.', 'countinghouse' ) );
		}
		Orders::keep( $order, $invoice );
		return $invoice['invoice_url'];
	}

	/** Deletes an invoice over an amount that is no longer asked for; one with an address stays, and is still listened to. */
	private static function give_up( string $id ): void {
		if ( Settings::is_copy() ) {
			return;
		}
		try {
			Client::delete_invoice( $id );
		} catch ( Failure $failure ) {
			if ( 400 !== $failure->status ) {
				throw $failure;
			}
		}
	}

	private function body_for( \WC_Order $order ): array {
		$number = wp_html_excerpt( $order->get_order_number(), self::ORDER_ID_CHARACTERS_MAX );
		$shop   = wp_specialchars_decode( get_bloginfo( 'name' ), ENT_QUOTES );
		/* translators: 1: an order's number, 2: the shop's name */
		$about = sprintf( __( 'Order %1$s at %2$s', 'countinghouse' ), $number, $shop );
		return array(
			'amount'             => Orders::asked( $order ),
			'currency'           => $order->get_currency(),
			'due_date'           => gmdate( 'm/d/Y', time() + Settings::days() * DAY_IN_SECONDS ),
			'close_url'          => $this->get_return_url( $order ),
			'automatic_redirect' => true,
			'order_id'           => $number,
			'description'        => wp_html_excerpt( sanitize_text_field( $about ), self::DESCRIPTION_CHARACTERS_MAX ),
			'metadata'           => array( Orders::METADATA => (string) $order->get_id() ),
		);
	}

	public function validate_base_url_field( $key, $value ) {
		$typed = trim( (string) $value );
		$url   = Settings::checked_url( $typed );
		if ( '' !== $typed && '' === $url ) {
			return $this->refuse( $key, __( 'The address of the service must be an https address (http only nearby).', 'countinghouse' ) );
		}
		return $url;
	}

	public function validate_endpoint_secret_field( $key, $value ) {
		$typed = trim( (string) $value );
		if ( '' !== $typed && ! Signature::is_secret( $typed ) ) {
			return $this->refuse( $key, __( 'The endpoint secret must be as the command printed it: whsec_…', 'countinghouse' ) );
		}
		return $typed;
	}

	/** Says what is wrong with a setting and keeps the former one. */
	private function refuse( $key, string $why ): string {
		\WC_Admin_Settings::add_error( $why );
		return (string) $this->get_option( $key );
	}

	public function admin_options() {
		parent::admin_options();
		echo '<h3>' . esc_html__( 'Connection', 'countinghouse' ) . '</h3>';
		echo '<p>' . esc_html__( 'Where the service runs, make the key and the endpoint with these commands:', 'countinghouse' ) . '</p>';
		printf( '<pre>%s</pre>', esc_html( self::commands() ) );
		$last = (int) get_option( Settings::LAST_EVENT, 0 );
		/* translators: %s: how long ago */
		$heard = $last > 0 ? sprintf( __( 'The last signed event came %s ago.', 'countinghouse' ), human_time_diff( $last ) ) : __( 'No signed event has come yet.', 'countinghouse' );
		printf( '<p>%s</p>', esc_html( $heard ) );
		$url = wp_nonce_url( add_query_arg( self::CHECK, '1' ), self::CHECK );
		printf( '<p><a class="button" href="%s">%s</a></p>', esc_url( $url ), esc_html__( 'Check the connection', 'countinghouse' ) );
		$nonce = is_string( $_GET['_wpnonce'] ?? null ) ? sanitize_key( $_GET['_wpnonce'] ) : '';
		if ( isset( $_GET[ self::CHECK ] ) && wp_verify_nonce( $nonce, self::CHECK ) ) {
			list( $class, $text ) = self::check();
			printf( '<div class="notice inline %s"><p>%s</p></div>', esc_attr( $class ), esc_html( $text ) );
		}
	}

	/** What makes the key and the endpoint. Quoted for a shell. */
	private static function commands(): string {
		$types = 'invoice.requested,invoice.seen,invoice.confirmed,invoice.paid,invoice.overdue,invoice.canceled,invoice.undone,invoice.refunded,'
			. 'withdrawal.pending,withdrawal.completed,withdrawal.failed';
		return "npx countinghouse key add \"My shop\" --name WooCommerce --scopes invoices,refund\n"
			. 'npx countinghouse endpoint add "My shop" ' . escapeshellarg( Events::url() ) . ' --types ' . $types;
	}

	/** A class for the notice, and what it says. */
	private static function check(): array {
		try {
			$cryptos = Client::cryptos();
		} catch ( Failure $failure ) {
			return array( 'notice-error', $failure->getMessage() );
		}
		if ( ! Signature::is_secret( Settings::secret() ) ) {
			return array( 'notice-warning', __( 'Connected, but the endpoint secret is missing: orders would not move on.', 'countinghouse' ) );
		}
		if ( array() === $cryptos ) {
			return array( 'notice-warning', __( 'Connected, but the business takes no cryptocurrency at the moment.', 'countinghouse' ) );
		}
		/* translators: %s: symbols of cryptocurrencies */
		return array( 'notice-success', sprintf( __( 'Connected. The business takes %s.', 'countinghouse' ), implode( ', ', $cryptos ) ) );
	}
}
