<?php
/** The smallest theme that shows a page. */
?>
<!doctype html>
<html>
<head><title><?php wp_title( '' ); ?></title><?php wp_head(); ?></head>
<body>
<?php
while ( have_posts() ) {
	the_post();
	echo '<h1>' . esc_html( get_the_title() ) . '</h1>';
	the_content();
}
wp_footer();
?>
</body>
</html>
