<?php
/** What the payer of an order reads: how the payment stands, and the way back to the payment page. */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Payer {
	/** What was last read of the order's present invoice, as far as the payer needs it. */
	public const PAYMENT = '_countinghouse_payment';

	public static function listen(): void {
		add_action( 'woocommerce_thankyou_' . Settings::GATEWAY, array( self::class, 'show_fresh' ) );
		add_action( 'woocommerce_view_order', array( self::class, 'show_fresh' ), 5 );
		add_action( 'woocommerce_email_before_order_table', array( self::class, 'mail' ), 10, 3 );
		add_filter( 'woocommerce_valid_order_statuses_for_payment', array( self::class, 'payable' ), 10, 2 );
		add_filter( 'woocommerce_my_account_my_orders_actions', array( self::class, 'lead' ), 10, 2 );
		add_filter( 'woocommerce_thankyou_order_received_text', array( self::class, 'received' ), 10, 2 );
		add_filter( 'woocommerce_endpoint_order-received_title', array( self::class, 'title' ) );
	}

	/** Keeps what the payer may need of an invoice. The caller saves the order. */
	public static function note( \WC_Order $order, array $invoice ): void {
		$payment = is_array( $invoice['payment'] ?? null ) ? $invoice['payment'] : array();
		$kept    = array(
			'url'       => $invoice['invoice_url'],
			'status'    => $invoice['status'],
			'underpaid' => ! empty( $payment['underpaid'] ),
		);
		foreach ( array( 'crypto', 'received', 'remaining' ) as $name ) {
			$kept[ $name ] = is_string( $payment[ $name ] ?? null ) ? $payment[ $name ] : '';
		}
		// once money came, an amount of nothing means that it was taken back
		$kept['came'] = (float) $kept['received'] > 0 || ! empty( self::of( $order )['came'] ) && self::of( $order )['url'] === $kept['url'];
		if ( $kept !== self::of( $order ) ) {
			$order->update_meta_data( self::PAYMENT, $kept );
		}
	}

	/** What was kept, or an empty array where the order is paid or was not to be paid here. */
	private static function of( \WC_Order $order ): array {
		$kept = $order->get_meta( self::PAYMENT );
		return is_array( $kept ) ? $kept : array();
	}

	/** Whether the order waits for money of its present invoice. */
	private static function is_open( \WC_Order $order ): bool {
		return Orders::is_ours( $order )
			&& $order->has_status( array( 'pending', 'on-hold', 'failed' ) )
			&& '' === (string) $order->get_meta( Orders::PAID_BY )
			&& 'unpaid' === ( self::of( $order )['status'] ?? '' );
	}

	/** Whether the payer has something to do: nothing came, or too little, or it was taken back. */
	private static function owes( \WC_Order $order ): bool {
		$kept = self::of( $order );
		return self::is_open( $order ) && ( $kept['underpaid'] || (float) $kept['received'] <= 0 );
	}

	/** The payment page of the order's invoice. */
	public static function link( \WC_Order $order ): string {
		return (string) ( self::of( $order )['url'] ?? '' );
	}

	/** How the payment stands, in words for the payer; '' where there is nothing to say. */
	public static function said( \WC_Order $order ): string {
		if ( ! self::is_open( $order ) ) {
			return '';
		}
		$kept = self::of( $order );
		if ( $kept['underpaid'] ) {
			/* translators: 1: an amount, 2: a cryptocurrency, 3: the amount that is missing */
			return sprintf( __( '%1$s %2$s came for this order. %3$s %2$s is still missing.', 'countinghouse' ), $kept['received'], $kept['crypto'], $kept['remaining'] );
		}
		if ( (float) $kept['received'] > 0 ) {
			return __( 'Your payment was seen. The order goes on once the network has confirmed it.', 'countinghouse' );
		}
		return $kept['came']
			? __( 'Your payment was taken back before it was confirmed, so this order is not paid.', 'countinghouse' )
			: __( 'This order is not paid yet.', 'countinghouse' );
	}

	/** What the link to the payment page says. */
	private static function invitation( \WC_Order $order ): string {
		if ( ! self::owes( $order ) ) {
			return __( 'See the payment', 'countinghouse' );
		}
		return self::of( $order )['underpaid'] ? __( 'Pay the rest', 'countinghouse' ) : __( 'Pay now', 'countinghouse' );
	}

	/** On the pages that follow the checkout. Asks the service first: an event may be under way. */
	public static function show_fresh( $order_id ): void {
		$order = wc_get_order( $order_id );
		if ( ! $order instanceof \WC_Order || ! self::is_open( $order ) ) {
			return;
		}
		$order = self::refreshed( $order );
		$text  = self::said( $order );
		if ( '' !== $text ) {
			printf( '<p class="woocommerce-info countinghouse-payment">%s ', esc_html( $text ) );
			printf( '<a class="button" href="%s">%s</a></p>', esc_url( self::link( $order ) ), esc_html( self::invitation( $order ) ) );
		}
	}

	/** The order as the service has it; where that cannot be asked, as it was. */
	private static function refreshed( \WC_Order $order ): \WC_Order {
		static $seen = array();
		$id          = $order->get_id();
		if ( ! isset( $seen[ $id ] ) && self::is_open( $order ) ) {
			$seen[ $id ] = true;
			try {
				Orders::refresh( $id, (string) $order->get_meta( Orders::INVOICE ) );
			} catch ( Failure $failure ) {
				Settings::log( "Order $id: " . $failure->getMessage() );
			}
		}
		$now = wc_get_order( $id );
		return $now instanceof \WC_Order ? $now : $order;
	}

	/** In emails to the customer, above the order. */
	public static function mail( $order, $sent_to_admin = false, $plain_text = false ): void {
		if ( $sent_to_admin || ! $order instanceof \WC_Order || '' === self::said( $order ) ) {
			return;
		}
		if ( $plain_text ) {
			echo esc_html( wp_strip_all_tags( self::said( $order ) . "\n" . self::invitation( $order ) ) ) . ': ' . esc_url_raw( self::link( $order ) ) . "\n\n";
			return;
		}
		printf( '<p>%s <a href="%s">%s</a></p>', esc_html( self::said( $order ) ), esc_url( self::link( $order ) ), esc_html( self::invitation( $order ) ) );
	}

	/** An order of ours that is on hold can be paid while money is missing; not while a payment waits for confirmations. */
	public static function payable( $statuses, $order = null ) {
		if ( $order instanceof \WC_Order && $order->has_status( 'on-hold' ) && self::owes( $order ) ) {
			$statuses[] = 'on-hold';
		}
		return $statuses;
	}

	/** "Pay" in the list of orders leads on to a payment that has begun: another method would ask for the whole once more. */
	public static function lead( $actions, $order ) {
		if ( isset( $actions['pay'] ) && $order instanceof \WC_Order && self::owes( $order ) && self::of( $order )['underpaid'] ) {
			$actions['pay']['url'] = self::link( $order );
		}
		return $actions;
	}

	/** Instead of "Thank you. Your order has been received." */
	public static function received( $text, $order = null ) {
		return $order instanceof \WC_Order && self::owes( self::refreshed( $order ) ) ? esc_html( self::said( $order ) ) : $text;
	}

	/** The title of the page after the checkout. */
	public static function title( $title ) {
		global $wp;
		$order = wc_get_order( absint( $wp->query_vars['order-received'] ?? 0 ) );
		$key   = is_string( $_GET['key'] ?? null ) ? sanitize_text_field( wp_unslash( $_GET['key'] ) ) : ''; // phpcs:ignore WordPress.Security.NonceVerification.Recommended
		$own   = $order instanceof \WC_Order && hash_equals( $order->get_order_key(), $key );
		return $own && self::owes( self::refreshed( $order ) ) ? __( 'Order not paid yet', 'countinghouse' ) : $title;
	}
}
