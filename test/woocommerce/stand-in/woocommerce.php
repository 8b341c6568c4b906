<?php
/**
 * Plugin Name: Stand-in for WooCommerce
 *
 * What the gateway uses of WooCommerce, which Debian does not have: as small as it can be, and by WooCommerce's
 * documentation. It is not WooCommerce: what runs against it has not been run against WooCommerce. Orders lie in WordPress's
 * options.
 */

defined( 'ABSPATH' ) || exit;

abstract class WC_Settings_API {
	public $id          = '';
	public $form_fields = array();
	public $settings    = array();

	public function init_settings() {
		$defaults       = array_map( static fn( $field ) => $field['default'] ?? '', $this->form_fields );
		$this->settings = array_merge( $defaults, get_option( $this->get_option_key(), array() ) );
	}

	public function get_option_key() {
		return 'woocommerce_' . $this->id . '_settings';
	}

	public function get_option( $key ) {
		return $this->settings[ $key ] ?? '';
	}

	public function process_admin_options() {
		$this->init_settings();
		foreach ( $this->form_fields as $key => $field ) {
			$value = wp_unslash( $_POST[ 'woocommerce_' . $this->id . '_' . $key ] ?? '' );
			$own   = array( $this, "validate_{$key}_field" );
			if ( is_callable( $own ) ) {
				$value = $own( $key, $value );
			} elseif ( 'checkbox' === $field['type'] ) {
				$value = '' === $value ? 'no' : 'yes';
			} else {
				$value = wp_kses_post( trim( $value ) );
			}
			$this->settings[ $key ] = $value;
		}
		return update_option( $this->get_option_key(), $this->settings );
	}

	public function admin_options() {
		echo '<h2>' . esc_html( $this->method_title ) . '</h2>';
		foreach ( $this->form_fields as $key => $field ) {
			printf( '<label>%s <input name="woocommerce_%s_%s" value="%s"></label>', esc_html( $field['title'] ), esc_attr( $this->id ), esc_attr( $key ), esc_attr( $this->get_option( $key ) ) );
		}
	}
}

abstract class WC_Payment_Gateway extends WC_Settings_API {
	public $enabled = 'yes';
	public $title;
	public $description;
	public $has_fields;
	public $method_title;
	public $method_description;
	public $icon;
	public $supports = array( 'products' );

	public function init_settings() {
		parent::init_settings();
		$this->enabled = 'yes' === ( $this->settings['enabled'] ?? '' ) ? 'yes' : 'no';
	}

	public function is_available() {
		return 'yes' === $this->enabled;
	}

	protected function get_order_total() {
		$order = wc_get_order( absint( get_query_var( 'order-pay' ) ) );
		return $order ? (float) $order->get_total() : 0.0;
	}

	public function get_return_url( $order ) {
		return $order->get_checkout_order_received_url();
	}
}

class WC_Admin_Settings {
	public static $errors = array();

	public static function add_error( $text ) {
		self::$errors[] = $text;
	}
}

class WC_Order {
	private $data;
	/** What was set since the order was read: only that is saved, as in WooCommerce. */
	private $changes    = array();
	private $meta       = array();
	private $transition = null;

	public function __construct( array $data ) {
		$this->data = $data;
	}

	public function get_id() {
		return $this->data['id'];
	}

	public function get_order_number() {
		return (string) $this->data['id'];
	}

	public function get_order_key() {
		return 'wc_order_' . $this->data['id'];
	}

	public function get_total() {
		return $this->data['total'];
	}

	public function set_total( $total ) {
		$this->set( 'total', $total );
	}

	public function get_currency() {
		return $this->data['currency'];
	}

	public function set_currency( $currency ) {
		$this->set( 'currency', $currency );
	}

	public function get_payment_method() {
		return $this->data['payment_method'];
	}

	public function get_date_modified() {
		return new DateTime( '@' . $this->data['modified'] );
	}

	public function set_date_modified( $time ) {
		$this->set( 'modified', $time );
	}

	public function get_status() {
		return $this->data['status'];
	}

	public function has_status( $status ) {
		return in_array( $this->data['status'], (array) $status, true );
	}

	public function is_paid() {
		return $this->has_status( array( 'processing', 'completed' ) );
	}

	public function needs_payment() {
		$statuses = apply_filters( 'woocommerce_valid_order_statuses_for_payment', array( 'pending', 'failed' ), $this );
		return $this->has_status( $statuses ) && $this->get_total() > 0;
	}

	public function get_checkout_order_received_url() {
		return home_url( '/?order-received=' . $this->get_id() . '&key=' . $this->get_order_key() );
	}

	public function get_transaction_id() {
		return $this->data['transaction_id'] ?? '';
	}

	public function get_refunds() {
		$ids = array_keys( get_option( 'stand_in_refunds_' . $this->get_id(), array() ) );
		return array_map( static fn( $id ) => new WC_Order_Refund( $id ), $ids );
	}

	public function get_total_refunded() {
		return array_sum( get_option( 'stand_in_refunds_' . $this->get_id(), array() ) );
	}

	public function set_payment_method( $method ) {
		$this->set( 'payment_method', $method );
	}

	public function set_billing_email( $email ) {
		$this->set( 'email', $email );
	}

	public function get_meta( $key ) {
		return $this->data['meta'][ $key ] ?? '';
	}

	private function set( $name, $value ) {
		$this->changes[ $name ] = $value;
		$this->data[ $name ]    = $value;
	}

	public function update_meta_data( $key, $value ) {
		$this->meta[ $key ]         = $value;
		$this->data['meta'][ $key ] = $value;
	}

	public function delete_meta_data( $key ) {
		$this->update_meta_data( $key, '' );
	}

	/** The change is told when the order is saved. */
	public function set_status( $status ) {
		if ( $status !== $this->data['status'] ) {
			$this->transition = $status;
			$this->set( 'status', $status );
		}
	}

	public function update_status( $status ) {
		$this->set_status( $status );
		$this->save();
		return true;
	}

	/** Into the trash; it comes out as if nobody had paid. */
	public function delete() {
		return $this->update_status( 'trash' );
	}

	public function untrash() {
		return $this->update_status( 'pending' );
	}

	public function payment_complete( $transaction_id = '' ) {
		if ( $this->has_status( array( 'on-hold', 'pending', 'failed', 'cancelled' ) ) ) {
			$this->set( 'transaction_id', $transaction_id );
			$this->set_status( 'processing' );
			$this->save();
			try {
				do_action( 'woocommerce_payment_complete', $this->get_id(), $transaction_id );
			} catch ( Exception $fault ) {
				return false;
			}
		}
		return true;
	}

	/** A note to the customer is an email. */
	public function add_order_note( $note, $to_customer = 0 ) {
		if ( $to_customer ) {
			wp_mail( $this->data['email'], 'Note', $note );
		}
		$name = 'stand_in_notes_' . $this->get_id();
		wp_cache_delete( $name, 'options' );
		update_option( $name, array_merge( get_option( $name, array() ), array( $note ) ), false );
		return 1;
	}

	public function get_edit_order_url() {
		return admin_url( 'admin.php?page=wc-orders&id=' . $this->get_id() );
	}

	public function save() {
		global $wpdb;
		$name = 'stand_in_order_' . $this->get_id();
		if ( ! isset( $this->changes['modified'] ) ) {
			$this->set( 'modified', time() );
		}
		$wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, 10)', $name ) );
		wp_cache_delete( $name, 'options' );
		$stored         = array_merge( get_option( $name, $this->data ), $this->changes );
		$stored['meta'] = array_merge( $stored['meta'], $this->meta );
		update_option( $name, $stored, false );
		$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', $name ) );
		( new Stand_In_Order_Cache() )->remove( $this->get_id() );
		do_action( 'woocommerce_after_order_object_save', $this );
		$this->changes    = array();
		$this->meta       = array();
		$to               = $this->transition;
		$this->transition = null;
		if ( null !== $to ) {
			do_action( 'woocommerce_order_status_' . $to, $this->get_id(), $this );
			if ( 'on-hold' === $to ) {
				ob_start();
				do_action( 'woocommerce_email_before_order_table', $this, false, false, null );
				wp_mail( $this->data['email'], 'On hold', ob_get_clean() );
			}
		}
		return $this->get_id();
	}
}

class WC_Order_Refund {
	private $id;
	private $order;

	public function __construct( $id ) {
		$this->id    = $id;
		$this->order = get_option( 'stand_in_refund_' . $id );
	}

	public function get_id() {
		return $this->id;
	}

	public function get_amount() {
		return get_option( 'stand_in_refunds_' . $this->order )[ $this->id ];
	}

	public function delete( $force ) {
		$name = 'stand_in_refunds_' . $this->order;
		update_option( $name, array_diff_key( get_option( $name ), array( $this->id => true ) ), false );
		delete_option( 'stand_in_refund_' . $this->id );
		return $force;
	}
}

/** With tables of their own (HPOS) WooCommerce keeps orders that a request has read, until it saves them. */
class Stand_In_Order_Cache {
	public function get( $id ) {
		return wp_cache_get( $id, 'stand_in_orders' );
	}

	public function set( $order ) {
		wp_cache_set( $order->get_id(), $order, 'stand_in_orders' );
	}

	public function remove( $id ) {
		return wp_cache_delete( $id, 'stand_in_orders' );
	}
}

class_alias( 'Stand_In_Order_Cache', 'Automattic\WooCommerce\Caches\OrderCache' );

function wc_get_container() {
	return new class() {
		public function get( $name ) {
			return new $name();
		}
	};
}

class WC_Data_Store {
	public static function load( $kind ) {
		return new self();
	}

	public function has_callable( $method ) {
		return false;
	}
}

function wc_get_order( $id ) {
	$cache = new Stand_In_Order_Cache();
	$known = $cache->get( $id );
	if ( $known ) {
		return $known;
	}
	wp_cache_delete( 'stand_in_order_' . $id, 'options' );
	wp_cache_delete( 'stand_in_notes_' . $id, 'options' );
	wp_cache_delete( 'stand_in_refund_' . $id, 'options' );
	if ( get_option( 'stand_in_refund_' . $id ) ) {
		return new WC_Order_Refund( $id );
	}
	$data = get_option( 'stand_in_order_' . $id );
	if ( ! is_array( $data ) ) {
		return false;
	}
	$order = new WC_Order( $data );
	$cache->set( $order );
	return $order;
}

function wc_get_orders( $args ) {
	$ids = range( 11, (int) get_option( 'stand_in_orders', 10 ) );
	return array_filter(
		$ids,
		static function ( $id ) use ( $args ) {
			$order = wc_get_order( $id );
			return $order && $order->has_status( $args['status'] )
				&& $order->get_payment_method() === ( $args['payment_method'] ?? $order->get_payment_method() )
				&& ( ! isset( $args['meta_key'] ) || in_array( $order->get_meta( $args['meta_key'] ), $args['meta_value'], true ) );
		}
	);
}

function wc_create_order() {
	$number = (int) get_option( 'stand_in_orders', 10 ) + 1;
	update_option( 'stand_in_orders', $number, false );
	$order = new WC_Order(
		array(
			'id'             => $number,
			'total'          => '0',
			'currency'       => 'USD',
			'payment_method' => '',
			'status'         => 'pending',
			'meta'           => array(),
		)
	);
	$order->save();
	return $order;
}

function wc_get_order_notes( $args ) {
	$notes = get_option( 'stand_in_notes_' . $args['order_id'], array() );
	return array_map( static fn( $note ) => (object) array( 'content' => $note ), $notes );
}

function wc_create_refund( $args ) {
	$order = wc_get_order( $args['order_id'] );
	$name  = 'stand_in_refunds_' . $args['order_id'];
	$id    = 1000000 + (int) get_option( 'stand_in_refunds', 0 );
	update_option( 'stand_in_refunds', $id - 999999, false );
	update_option( 'stand_in_refund_' . $id, $args['order_id'], false );
	update_option( $name, get_option( $name, array() ) + array( $id => $args['amount'] ), false );
	if ( $order->get_total_refunded() >= (float) $order->get_total() ) {
		$order->update_status( 'refunded' );
	}
	return new WC_Order_Refund( $id );
}

function wc_get_price_decimals() {
	return 2;
}

function wc_format_decimal( $number, $decimals ) {
	return number_format( (float) $number, $decimals, '.', '' );
}

function get_woocommerce_currency() {
	return 'USD';
}

function wc_get_account_orders_actions( $order ) {
	$pay = array( 'pay' => array( 'url' => home_url( '/?order-pay=' . $order->get_id() ) ) );
	return apply_filters( 'woocommerce_my_account_my_orders_actions', $order->needs_payment() ? $pay : array(), $order );
}

function wc_get_notices() {
	return $GLOBALS['stand_in_notices'] ?? array();
}

function wc_clear_notices() {
	$GLOBALS['stand_in_notices'] = array();
}

function WC() { // phpcs:ignore WordPress.NamingConventions.ValidFunctionName.FunctionNameInvalid
	return new class() {
		public function payment_gateways() {
			return new class() {
				public function payment_gateways() {
					return array( 'countinghouse' => stand_in_gateway() );
				}
			};
		}
	};
}

function wc_get_logger() {
	return new class() {
		public function error( $message, $context = array() ) {
			apply_filters( 'woocommerce_logger_log_message', $message, 'error', $context, null );
		}
	};
}

function wc_add_notice( $text, $kind ) {
	$GLOBALS['stand_in_notices'][ $kind ][] = array( 'notice' => $text );
}

function wc_get_page_screen_id( $for ) {
	return 'toplevel_page_wc-orders';
}

function stand_in_gateway() {
	static $gateway;
	if ( ! $gateway ) {
		$classes = apply_filters( 'woocommerce_payment_gateways', array() );
		$gateway = new $classes[0]();
	}
	return $gateway;
}

add_filter(
	'user_has_cap',
	static fn( $all ) => $all + array_fill_keys( array( 'edit_shop_orders', 'manage_woocommerce' ), ! empty( $all['manage_options'] ) )
);

add_action(
	'admin_menu',
	static function () {
		add_menu_page( 'Settings', 'Settings', 'manage_options', 'wc-settings', 'stand_in_settings' );
		add_menu_page( 'Order', 'Order', 'edit_shop_orders', 'wc-orders', 'stand_in_order_screen' );
	}
);

function stand_in_settings() {
	$gateway = stand_in_gateway();
	if ( isset( $_POST['save'] ) && check_admin_referer( 'stand-in-settings' ) ) {
		do_action( 'woocommerce_update_options_payment_gateways_' . $gateway->id );
	}
	foreach ( WC_Admin_Settings::$errors as $error ) {
		printf( '<div class="error">%s</div>', esc_html( $error ) );
	}
	echo '<form method="post">';
	wp_nonce_field( 'stand-in-settings' );
	$gateway->admin_options();
	echo '<button name="save" value="1">Save</button></form>';
}

function stand_in_order_screen() {
	$order = wc_get_order( absint( $_GET['id'] ?? 0 ) );
	do_action( 'add_meta_boxes', wc_get_page_screen_id( 'shop-order' ), $order );
	do_meta_boxes( wc_get_page_screen_id( 'shop-order' ), 'side', $order );
}

/** The page after the checkout. */
add_action(
	'template_redirect',
	static function () {
		$order = wc_get_order( absint( $_GET['order-received'] ?? 0 ) );
		if ( ! $order || ( $_GET['key'] ?? '' ) !== $order->get_order_key() ) {
			return;
		}
		$GLOBALS['wp']->query_vars['order-received'] = $order->get_id();
		printf( '<title>%s</title>', esc_html( apply_filters( 'woocommerce_endpoint_order-received_title', 'Order received' ) ) );
		echo '<p>' . wp_kses_post( apply_filters( 'woocommerce_thankyou_order_received_text', 'Thank you. Your order has been received.', $order ) ) . '</p>';
		do_action( 'woocommerce_thankyou_' . $order->get_payment_method(), $order->get_id() );
		exit;
	}
);
