<?php
// A whole shop: one page, one invoice for each order, and delivery once the service says that it is paid. It needs no library.
// Run: API=http://127.0.0.1:8480/api/v1/merchant KEY=ch_test_… php -S 127.0.0.1:3001 shop.php

const PRICE = '25';

/** A file for each order, so that two who buy at the same time do not overwrite each other's. In a real shop: the database. */
function file_of( string $order ): string {
	return ( getenv( 'FOLDER' ) ?: sys_get_temp_dir() ) . "/countinghouse-order-$order";
}

function ask( string $method, string $path, ?array $body = null, string $repeatable = '' ): array {
	$headers = array( 'MB-API-KEY: ' . getenv( 'KEY' ), 'Content-Type: application/json' );
	if ( '' !== $repeatable ) {
		$headers[] = "Idempotency-Key: $repeatable"; // asked twice, still one invoice
	}
	$http = array( 'method' => $method, 'header' => $headers, 'ignore_errors' => true, 'timeout' => 15 );
	if ( null !== $body ) {
		$http['content'] = json_encode( $body );
	}
	$text = @file_get_contents( getenv( 'API' ) . "/$path", false, stream_context_create( array( 'http' => $http ) ) );
	$json = json_decode( (string) $text, true );
	if ( ! is_array( $json ) || ! preg_match( '/ 2\d\d /', $http_response_header[0] ?? '' ) ) {
		throw new RuntimeException( $json['message'] ?? $json['error'] ?? 'The service does not answer.' );
	}
	return $json;
}

function buy(): void {
	$order   = bin2hex( random_bytes( 16 ) );
	$back    = 'http://' . $_SERVER['HTTP_HOST'] . "/order/$order";
	$about   = array( 'amount' => PRICE, 'currency' => 'USD', 'order_id' => $order, 'close_url' => $back );
	$invoice = ask( 'POST', 'invoice', $about, $order );
	if ( false === file_put_contents( file_of( $order ), $invoice['id'] ) ) {
		throw new RuntimeException( 'The order cannot be kept.' );
	}
	header( 'Location: ' . $invoice['invoice_url'], true, 303 );
}

/** The payer's browser proves nothing: the service is asked, and the amount compared. */
function show( string $id ): string {
	$invoice = ask( 'GET', "invoice/$id" );
	$is_paid = 'paid' === $invoice['status'] && empty( $invoice['payment']['undone'] ) && (float) PRICE === (float) $invoice['amount'];
	return $is_paid ? 'Paid. Thank you!' : 'Not paid yet. <a href="' . htmlspecialchars( $invoice['invoice_url'] ) . '">To the payment</a>';
}

$order = preg_match( '~^/order/([0-9a-f]{32})$~', $_SERVER['REQUEST_URI'], $found ) ? $found[1] : '';
try {
	if ( 'POST' === $_SERVER['REQUEST_METHOD'] && '/buy' === $_SERVER['REQUEST_URI'] ) {
		buy();
	} elseif ( '' !== $order && is_file( file_of( $order ) ) ) {
		echo show( file_get_contents( file_of( $order ) ) );
	} else {
		echo '<form method="post" action="/buy"><button>Buy for ' . PRICE . ' USD</button></form>';
	}
} catch ( RuntimeException $fault ) {
	http_response_code( 502 );
	echo 'Try again later. (' . htmlspecialchars( $fault->getMessage() ) . ')';
}
