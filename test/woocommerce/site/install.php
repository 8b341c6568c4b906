<?php
/** Makes the database's tables and an administrator, and activates the plug-ins named by the arguments. */

define( 'WP_INSTALLING', true );

/** WordPress would send an email. */
function wp_new_blog_notification() {}

$database = mysqli_connect( 'localhost', 'root', '', '', 0, getenv( 'SHOP_DATABASE' ) );
$database->query( 'CREATE DATABASE wordpress' );
$_SERVER['HTTP_HOST'] = '127.0.0.1';
require ABSPATH . 'wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
// else WordPress tries pretty addresses with a request to itself
add_filter( 'pre_option_permalink_structure', static fn() => '/?' );
wp_install( 'Rosa & Co', 'admin', 'admin@shop.example', false, '', 'a password' );
update_option( 'active_plugins', array_slice( $argv, 1 ) );
