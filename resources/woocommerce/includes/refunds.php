<?php
/**
 * Refunds that are asked for on the order screen. The service makes a withdrawal of them that waits until its operator
 * approves it there; nothing that WordPress knows can approve it.
 */

namespace Countinghouse;

defined( 'ABSPATH' ) || exit;

final class Refunds {
	private const PAGE       = 'countinghouse-refund';
	private const ACTION     = 'countinghouse_refund';
	private const CAPABILITY = 'edit_shop_orders';
	/** Before an option's name: which order a withdrawal pays back. */
	private const OPTION = 'countinghouse_withdrawal_';
	/**
	 * How much of the payment went back by the refunds that are booked, in its coin; which refunds those are; and while the blockchain
	 * undid some of it, the least that had gone back.
	 */
	public const BOOKED = '_countinghouse_booked';
	/** The former note of it. It left out what went back from elsewhere, and mixed coins. */
	public const SENT_BACK = '_countinghouse_sent_back';

	private const COIN_DECIMALS = 12;
	/** The service rounds down what went back in another coin than that of the payment. */
	private const SHARE_OF_NOTHING = 0.000001;
	/** How much less than its amount can pay an invoice. */
	private const TOLERANCE_MAX = 0.05;

	private const ADDRESS = '/^[!-~]{10,255}$/';
	private const AMOUNT  = '/^\d{1,30}(\.\d{1,30})?$/';
	private const UUID    = '/^[0-9a-f-]{36}$/';

	public static function listen(): void {
		add_action( 'add_meta_boxes', array( self::class, 'add_box' ) );
		add_action(
			'admin_menu',
			static function () {
				$title = __( 'Refund in cryptocurrency', 'countinghouse' );
				$hook  = add_submenu_page( '', $title, '', self::CAPABILITY, self::PAGE, array( self::class, 'show_page' ) );
				add_action(
					'load-' . $hook,
					static function () use ( $title ) {
						// WordPress finds no title for a page that is in no menu
						$GLOBALS['title'] = $title; // phpcs:ignore WordPress.WP.GlobalVariablesOverride.Prohibited
					}
				);
			}
		);
		add_action( 'admin_post_' . self::ACTION, array( self::class, 'submit' ) );
	}

	/** On the order screen, whether orders are posts or have tables of their own (HPOS). */
	public static function add_box(): void {
		$screens = array( 'shop_order' );
		if ( function_exists( 'wc_get_page_screen_id' ) ) {
			$screens[] = wc_get_page_screen_id( 'shop-order' );
		}
		add_meta_box( self::PAGE, 'Countinghouse', array( self::class, 'show_box' ), array_unique( $screens ), 'side' );
	}

	public static function show_box( $shown ): void {
		$order = $shown instanceof \WP_Post ? wc_get_order( $shown->ID ) : $shown;
		if ( ! $order instanceof \WC_Order || array() === Orders::invoices( $order ) ) {
			echo '<p>' . esc_html__( 'This order has no invoice.', 'countinghouse' ) . '</p>';
			return;
		}
		printf( '<p>%s</p>', esc_html( implode( ', ', Orders::invoices( $order ) ) ) );
		$url = add_query_arg(
			array(
				'page'  => self::PAGE,
				'order' => $order->get_id(),
			),
			admin_url( 'admin.php' )
		);
		printf( '<p><a class="button" href="%s">%s</a></p>', esc_url( $url ), esc_html__( 'Refund in cryptocurrency', 'countinghouse' ) );
	}

	/** The form. */
	public static function show_page(): void {
		$order = wc_get_order( absint( $_GET['order'] ?? 0 ) );
		echo '<div class="wrap"><h1>' . esc_html__( 'Refund in cryptocurrency', 'countinghouse' ) . '</h1>';
		if ( ! $order instanceof \WC_Order || array() === Orders::invoices( $order ) ) {
			echo '<p>' . esc_html__( 'This order has no invoice.', 'countinghouse' ) . '</p></div>';
			return;
		}
		echo '<p>' . esc_html__( 'Ask the payer for an address: the one that the money came from may be nobody\'s. The refund waits until it is approved where the service runs, and is booked here once it is paid: do not refund it in WooCommerce, too.', 'countinghouse' ) . '</p>';
		printf( '<form method="post" action="%s">', esc_url( admin_url( 'admin-post.php' ) ) );
		wp_nonce_field( self::ACTION . $order->get_id() );
		printf( '<input type="hidden" name="action" value="%s">', esc_attr( self::ACTION ) );
		printf( '<input type="hidden" name="order" value="%d">', (int) $order->get_id() );
		// one form, one refund, however often it is sent
		printf( '<input type="hidden" name="key" value="%s">', esc_attr( wp_generate_uuid4() ) );
		$of = (string) $order->get_meta( Orders::PAID_BY );
		printf( '<p><label>%s <select name="invoice">', esc_html__( 'Invoice', 'countinghouse' ) );
		foreach ( Orders::invoices( $order ) as $id ) {
			printf( '<option%s>%s</option>', selected( $id, $of, false ), esc_html( $id ) );
		}
		printf( '</select></label></p><p><label>%s<br>', esc_html__( 'Address of the payer', 'countinghouse' ) );
		echo '<input name="address" size="70" required autocomplete="off" spellcheck="false"></label></p>';
		printf( '<p><label>%s<br>', esc_html__( 'Amount in the coin of the payment (empty: all of it)', 'countinghouse' ) );
		echo '<input name="amount" inputmode="decimal" autocomplete="off"></label></p>';
		submit_button( __( 'Ask for the refund', 'countinghouse' ) );
		echo '</form></div>';
	}

	private static function posted( string $name ): string {
		// phpcs:ignore WordPress.Security.NonceVerification.Missing -- `submit` checks it before it reads anything else
		$value = wp_unslash( $_POST[ $name ] ?? '' );
		return is_string( $value ) ? trim( $value ) : '';
	}

	/** Takes the form. */
	public static function submit(): void {
		$order_id = absint( self::posted( 'order' ) );
		check_admin_referer( self::ACTION . $order_id );
		if ( ! current_user_can( self::CAPABILITY ) ) {
			wp_die( esc_html__( 'You may not refund orders.', 'countinghouse' ), '', array( 'response' => 403 ) );
		}
		try {
			$order = Orders::alone( $order_id, array( self::class, 'ask' ) );
			if ( null === $order ) {
				throw new Failure( __( 'There is no such order.', 'countinghouse' ) );
			}
		} catch ( Failure $failure ) {
			$answer = array(
				'response'  => 400,
				'back_link' => true,
			);
			wp_die( esc_html( $failure->getMessage() ), '', $answer ); // phpcs:ignore WordPress.Security.EscapeOutput.OutputNotEscaped
		}
		wp_safe_redirect( $order->get_edit_order_url() );
		exit;
	}

	/** Asks for the refund that was posted, and notes it. */
	public static function ask( \WC_Order $order ): \WC_Order {
		if ( Settings::is_copy() ) {
			throw new Failure( __( 'This shop has another address than the one that its settings of Countinghouse were saved in. Save them here first, unless it is a copy.', 'countinghouse' ) );
		}
		$invoice = self::posted( 'invoice' );
		$address = self::posted( 'address' );
		$amount  = self::posted( 'amount' );
		$key     = self::posted( 'key' );
		if ( ! in_array( $invoice, Orders::invoices( $order ), true ) || 1 !== preg_match( self::UUID, $key ) ) {
			throw new Failure( __( 'That is no invoice of this order.', 'countinghouse' ) );
		}
		if ( 1 !== preg_match( self::ADDRESS, $address ) ) {
			throw new Failure( __( 'That is no address.', 'countinghouse' ) );
		}
		if ( '' !== $amount && 1 !== preg_match( self::AMOUNT, $amount ) ) {
			throw new Failure( __( 'The amount must be a number such as 0.25.', 'countinghouse' ) );
		}
		if ( ! Orders::is_of( $order, Client::invoice( $invoice ) ) ) {
			throw new Failure( __( 'That is an invoice of the order that this one is a copy of.', 'countinghouse' ) );
		}
		$asked = Client::refund( $invoice, $address, $amount, 'wc-refund-' . $key );
		$id    = $asked['id'];
		$kept  = array(
			'order'   => $order->get_id(),
			'invoice' => $invoice,
		);
		// false: the form was sent twice, and the first time is noted
		if ( add_option( self::option( $id, $asked['address'] ), $kept, '', false ) ) {
			/* translators: 1: a withdrawal's number, 2: an address */
			$text = __( 'Refund to %2$s was asked for. It waits for approval: countinghouse withdrawal approve %1$s', 'countinghouse' );
			$order->add_order_note( esc_html( sprintf( $text, $id, $address ) ), 0, true );
		}
		return $order;
	}

	/** A withdrawal of this service, to this address. */
	private static function option( string $id, string $address ): string {
		return self::OPTION . md5( Settings::base_url() . ' ' . $id . ' ' . $address );
	}

	/** Tells the order what became of a refund that was asked for here. Throws Failure when the order is busy. */
	public static function take( string $type, array $data ): void {
		if ( ! is_string( $data['id'] ?? null ) || ! is_string( $data['address'] ?? null ) ) {
			return;
		}
		$name = self::option( $data['id'], $data['address'] );
		$kept = get_option( $name );
		if ( ! is_array( $kept ) || 'withdrawal.pending' === $type ) {
			return;
		}
		Orders::alone(
			(int) $kept['order'],
			static function ( \WC_Order $order ) use ( $type, $data, $name ) {
				// the same event may have come while this one waited for its turn
				wp_cache_delete( $name, 'options' );
				$kept    = get_option( $name );
				$invoice = Client::known( (string) ( $kept['invoice'] ?? $order->get_meta( Orders::PAID_BY ) ) );
				if ( ( $kept['told'] ?? '' ) !== $type ) {
					update_option( $name, array( 'told' => $type ) + $kept, false );
					$order->add_order_note( esc_html( self::said( $type, $data ) ) );
				}
				if ( null !== $invoice ) {
					Orders::apply( $order, $invoice );
					$order->save();
				}
			}
		);
	}

	/** What became of a refund, for the merchant. */
	private static function said( string $type, array $data ): string {
		if ( 'withdrawal.completed' !== $type ) {
			/* translators: %s: a withdrawal's number */
			return sprintf( __( 'Refund %s failed: nothing was sent.', 'countinghouse' ), $data['id'] );
		}
		/* translators: 1: a withdrawal's number, 2: an amount, 3: a cryptocurrency, 4: a transaction */
		$text = __( 'Refund %1$s is paid: %2$s %3$s, transaction %4$s.', 'countinghouse' );
		return sprintf( $text, $data['id'], $data['amount'] ?? '', $data['crypto'] ?? '', $data['tx_id'] ?? '' );
	}

	/**
	 * Makes a WooCommerce refund of what went back to the payer since the last one, so that reports know it: wherever it was asked for,
	 * and in whichever coin. Only the invoice that paid the order counts. Call it within `Orders::alone`.
	 */
	public static function book( \WC_Order $order, array $invoice, array $payment ): void {
		if ( $invoice['id'] !== $order->get_meta( Orders::PAID_BY ) ) {
			return;
		}
		$sent   = is_string( $payment['refunded'] ?? null ) ? $payment['refunded'] : '0';
		$booked = $order->get_meta( self::BOOKED );
		$by_now = 0.0;
		if ( ! is_array( $booked ) ) {
			// a former version left it to the merchant to book what went back from elsewhere
			$by_now = (float) $order->get_total_refunded();
			if ( (float) $sent <= 0 && $by_now > 0 ) {
				return;
			}
			$booked = array(
				'sent'    => '0',
				'refunds' => array(),
				'least'   => '',
			);
		}
		$booked = self::after_undoing( $order, $invoice, $payment, $booked, $sent );
		$before = (float) $booked['sent'];
		if ( (float) $sent > $before ) {
			$booked['sent'] = $sent;
		}
		$order->update_meta_data( self::BOOKED, $booked );
		if ( (float) $sent <= $before ) {
			return;
		}
		$worth = self::worth( $invoice, $payment, (float) $sent ) - self::worth( $invoice, $payment, $before );
		if ( $by_now > 0 ) {
			/* translators: 1: an amount, 2: a cryptocurrency, 3: an invoice, 4: what that is worth, 5: what is refunded, 6: a currency */
			$text = __( '%1$s %2$s of invoice %3$s went back by now, worth %4$s %6$s. The refunds that the order has already, %5$s %6$s, are taken for it: only what is beyond them is booked.', 'countinghouse' );
			Orders::tell( $order, 'by-now-' . $invoice['id'], $text, $sent, $payment['crypto'] ?? '', $invoice['id'], self::money( $worth ), self::money( $by_now ), $order->get_currency() );
		}
		$order->save();
		$left  = (float) $order->get_total() - (float) $order->get_total_refunded();
		$worth = self::money( min( $left, $worth - $by_now ) );
		if ( (float) $worth > 0 ) {
			self::make( $order, $invoice, $worth, self::coins( (float) $sent - $before ), $payment['crypto'] ?? '' );
		}
	}

	/**
	 * Says that the blockchain undid a refund. From then on until all that is booked has gone back again, a refund that the merchant
	 * deleted is not booked any more.
	 */
	private static function after_undoing( \WC_Order $order, array $invoice, array $payment, array $booked, string $sent ): array {
		if ( (float) $sent < (float) $booked['sent'] ) {
			$booked['least'] = self::coins( min( (float) $sent, '' === $booked['least'] ? (float) $sent : (float) $booked['least'] ) );
		}
		if ( '' === $booked['least'] ) {
			return $booked;
		}
		foreach ( $booked['refunds'] as $id => $amount ) {
			if ( ! wc_get_order( $id ) ) {
				$booked['sent'] = self::coins( max( (float) $booked['least'], (float) $booked['sent'] - (float) $amount ) );
				unset( $booked['refunds'][ $id ] );
			}
		}
		if ( (float) $sent >= (float) $booked['sent'] ) {
			$booked['least'] = '';
			return $booked;
		}
		/* translators: 1: an invoice, 2: an amount, 3: a cryptocurrency, 4: the amount that went back by the books */
		$text = __( 'Of invoice %1$s only %2$s %3$s went back by now, and %4$s %3$s are booked: the blockchain undid a refund. Unless it is confirmed again, delete the refund that is booked.', 'countinghouse' );
		Orders::tell( $order, "unsent-$sent-" . $booked['sent'], $text, $invoice['id'], $sent, $payment['crypto'] ?? '', $booked['sent'] );
		return $booked;
	}

	/** Makes a WooCommerce refund, and notes which one it is. */
	private static function make( \WC_Order $order, array $invoice, string $worth, string $amount, string $crypto ): void {
		/* translators: 1: an amount, 2: a cryptocurrency, 3: an invoice */
		$reason = __( '%1$s %2$s of invoice %3$s sent back', 'countinghouse' );
		$made   = wc_create_refund(
			array(
				'order_id'       => $order->get_id(),
				'amount'         => $worth,
				'reason'         => sprintf( $reason, $amount, $crypto, $invoice['id'] ),
				'refund_payment' => false,
				'restock_items'  => false,
			)
		);
		if ( is_wp_error( $made ) ) {
			$order->add_order_note( esc_html( $made->get_error_message() ) );
			return;
		}
		$booked                               = $order->get_meta( self::BOOKED );
		$booked['refunds'][ $made->get_id() ] = $amount;
		$order->update_meta_data( self::BOOKED, $booked );
		$order->save();
	}

	private static function coins( float $amount ): string {
		return rtrim( rtrim( number_format( $amount, self::COIN_DECIMALS, '.', '' ), '0' ), '.' );
	}

	private static function money( float $amount ): string {
		return wc_format_decimal( $amount, wc_get_price_decimals() );
	}

	/**
	 * What a part of the payment is worth in the currency of the invoice, at the price that the payer paid; rounded to the shop's
	 * decimals. What was paid beyond the price goes back first and is worth nothing; with the last part all that was paid has gone back,
	 * unless the order was paid in part in another way and then marked paid.
	 */
	private static function worth( array $invoice, array $payment, float $sent ): float {
		$asked     = (float) ( $payment['amount'] ?? 0 );
		$confirmed = (float) ( $payment['confirmed'] ?? 0 );
		if ( $sent > 0 && $sent >= $confirmed * ( 1 - self::SHARE_OF_NOTHING ) && $confirmed >= $asked * ( 1 - self::TOLERANCE_MAX ) ) {
			return (float) $invoice['amount'];
		}
		$counted = max( 0.0, $sent - max( 0.0, $confirmed - $asked ) );
		return $asked > 0 ? round( $counted / $asked * (float) $invoice['amount'], wc_get_price_decimals() ) : 0.0;
	}
}
